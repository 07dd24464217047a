"""What the world knows and pure code does not: the process, the machine, the sockets.

These are answers to asks. The shell fills them in when somebody wants to see them (INFO, CLIENT
LIST), so nothing here is kept up to date between two questions. Texts are bytes, ready to be sent.
"""

from __future__ import annotations

from typing import final

from disque.model.asks import Result

__all__ = [
    "BuildFacts",
    "ClientFacts",
    "ClientsFacts",
    "CpuFacts",
    "ProcessFacts",
    "ServerFacts",
]


@final
class CpuFacts:
    """Seconds of processor time, of this process and of those it started and waited for."""

    __slots__ = ("children_system_s", "children_user_s", "system_s", "user_s")

    def __init__(
        self, system_s: float, user_s: float, children_system_s: float, children_user_s: float
    ) -> None:
        self.system_s = system_s
        self.user_s = user_s
        self.children_system_s = children_system_s
        self.children_user_s = children_user_s


@final
class BuildFacts:
    """What was built, from what, and what runs it. `git_sha1` is all zeros when nobody knows."""

    __slots__ = ("build_id", "core_build", "event_loop", "git_sha1", "python", "version")

    def __init__(
        self,
        version: bytes,
        git_sha1: bytes,
        build_id: bytes,
        python: bytes,
        event_loop: bytes,
        core_build: bytes,
    ) -> None:
        self.version = version
        self.git_sha1 = git_sha1
        self.build_id = build_id
        self.python = python
        self.event_loop = event_loop
        self.core_build = core_build


@final
class ProcessFacts:
    """Who the running process is, and where it came from. `config_file` is empty without one."""

    __slots__ = (
        "arch_bits",
        "config_file",
        "executable",
        "os",
        "pid",
        "run_id",
        "tcp_port",
        "uptime_s",
    )

    def __init__(
        self,
        pid: int,
        run_id: bytes,
        tcp_port: int,
        uptime_s: int,
        executable: bytes,
        config_file: bytes,
        os: bytes,
        arch_bits: int,
    ) -> None:
        self.pid = pid
        self.run_id = run_id
        self.tcp_port = tcp_port
        self.uptime_s = uptime_s
        self.executable = executable
        self.config_file = config_file
        self.os = os
        self.arch_bits = arch_bits


@final
class ServerFacts(Result):
    """Everything INFO needs from the world.

    `longest_output_list` counts reply chunks not sent yet, `biggest_input_buffer` bytes not parsed
    yet; each is the maximum over all clients.
    """

    __slots__ = (
        "biggest_input_buffer",
        "build",
        "cpu",
        "longest_output_list",
        "process",
        "rss_bytes",
    )

    def __init__(
        self,
        build: BuildFacts,
        process: ProcessFacts,
        cpu: CpuFacts,
        rss_bytes: int,
        longest_output_list: int,
        biggest_input_buffer: int,
    ) -> None:
        self.build = build
        self.process = process
        self.cpu = cpu
        self.rss_bytes = rss_bytes
        self.longest_output_list = longest_output_list
        self.biggest_input_buffer = biggest_input_buffer


@final
class ClientFacts:
    """The socket and the buffers of one connection.

    `input_bytes` and `input_free_bytes` describe what was received and not parsed yet,
    `output_bytes` and `output_chunks` what was replied and not sent yet, `output_memory_bytes`
    what the latter costs. `events` is what the loop watches the socket for: `r` or `rw`.
    """

    __slots__ = (
        "events",
        "fd",
        "id",
        "input_bytes",
        "input_free_bytes",
        "output_bytes",
        "output_chunks",
        "output_memory_bytes",
    )

    def __init__(
        self,
        id: int,
        fd: int,
        input_bytes: int,
        input_free_bytes: int,
        output_bytes: int,
        output_chunks: int,
        output_memory_bytes: int,
        events: bytes,
    ) -> None:
        self.id = id
        self.fd = fd
        self.input_bytes = input_bytes
        self.input_free_bytes = input_free_bytes
        self.output_bytes = output_bytes
        self.output_chunks = output_chunks
        self.output_memory_bytes = output_memory_bytes
        self.events = events


@final
class ClientsFacts(Result):
    """The connections asked for, by client id."""

    __slots__ = ("clients",)

    def __init__(self, clients: dict[int, ClientFacts]) -> None:
        self.clients = clients
