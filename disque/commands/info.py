"""INFO: the state of this node as text for people and for monitoring.

A section is a header and lines `field:value`, in a fixed order that tools rely on; sections are
separated by a blank line. What only the process knows comes as `ServerFacts`, so INFO is an ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from disque.commands.frontend import Frontend
from disque.commands.session import ON_ANSWER, ON_QUEUES, ON_REPLICATION, Session
from disque.model.asks import DescribeServer, Result
from disque.model.errors import SyntaxProblem
from disque.model.facts import ServerFacts
from disque.wire import resp

__all__ = ["answer_info", "human_size", "info", "report"]

KIB: Final = 1024
DAY_S: Final = 86_400


def info(front: Frontend, session: Session, argv: list[bytes], _now_ms: int) -> bytes | None:
    """INFO [section]."""
    if len(argv) > 2:
        raise SyntaxProblem
    section = argv[1].lower() if len(argv) == 2 else b"default"
    front.node.effects.asks.append(DescribeServer(session.id, section))
    session.waits = ON_ANSWER
    return None


def answer_info(front: Frontend, ask: DescribeServer, result: Result, now_ms: int) -> bytes:
    """Write the reply, now that the world has told its part."""
    assert isinstance(result, ServerFacts)
    return resp.bulk(report(front, ask.section, result, now_ms))


def report(front: Frontend, section: bytes, facts: ServerFacts, now_ms: int) -> bytes:
    """Write one section, the default ones, or all; nothing if there is no such section."""
    if section == b"all":
        chosen = [*DEFAULT_SECTIONS, COMMAND_STATISTICS]
    elif section == b"default":
        chosen = list(DEFAULT_SECTIONS)
    else:
        chosen = [
            (name, write)
            for name, write in (*DEFAULT_SECTIONS, COMMAND_STATISTICS)
            if name.lower() == section
        ]
    texts = [
        b"# %b\r\n%b" % (name, b"".join([b"%b\r\n" % line for line in write(front, facts, now_ms)]))
        for name, write in chosen
    ]
    return b"\r\n".join(texts)


def human_size(size_bytes: int) -> bytes:
    """Write a size as people read it.

    >>> human_size(1023), human_size(1536), human_size(5 * 1024**3)
    (b'1023B', b'1.50K', b'5.00G')
    """
    if size_bytes < KIB:
        return b"%dB" % size_bytes
    value = size_bytes / KIB
    for unit in (b"K", b"M", b"G", b"T"):
        if value < KIB:
            return b"%.2f%b" % (value, unit)
        value /= KIB
    return b"%.2fP" % value


def _server(front: Frontend, facts: ServerFacts, _now_ms: int) -> list[bytes]:
    build, process = facts.build, facts.process
    return [
        b"disque_version:%b" % build.version,
        b"disque_git_sha1:%b" % build.git_sha1,
        b"disque_git_dirty:0",
        b"disque_build_id:%b" % build.build_id,
        b"os:%b" % process.os,
        b"arch_bits:%d" % process.arch_bits,
        b"multiplexing_api:%b" % build.event_loop,
        # The field tools look for; what builds and runs this server is Python.
        b"gcc_version:%b" % build.python,
        b"process_id:%d" % process.pid,
        b"run_id:%b" % process.run_id,
        b"tcp_port:%d" % process.tcp_port,
        b"uptime_in_seconds:%d" % process.uptime_s,
        b"uptime_in_days:%d" % (process.uptime_s // DAY_S),
        b"hz:%d" % front.settings.hz,
        b"executable:%b" % process.executable,
        b"config_file:%b" % process.config_file,
    ]


def _clients(front: Frontend, facts: ServerFacts, _now_ms: int) -> list[bytes]:
    blocked = 0
    for session in front.sessions.values():
        blocked += session.waits in (ON_QUEUES, ON_REPLICATION)
    return [
        b"connected_clients:%d" % len(front.sessions),
        b"client_longest_output_list:%d" % facts.longest_output_list,
        b"client_biggest_input_buf:%d" % facts.biggest_input_buffer,
        b"blocked_clients:%d" % blocked,
    ]


def _memory(front: Frontend, facts: ServerFacts, _now_ms: int) -> list[bytes]:
    used_bytes = front.node.memory.account.used_bytes
    peak_bytes = front.node.memory.account.peak_bytes()
    return [
        b"used_memory:%d" % used_bytes,
        b"used_memory_human:%b" % human_size(used_bytes),
        b"used_memory_rss:%d" % facts.rss_bytes,
        b"used_memory_peak:%d" % peak_bytes,
        b"used_memory_peak_human:%b" % human_size(peak_bytes),
        b"mem_fragmentation_ratio:%.2f" % (facts.rss_bytes / max(used_bytes, 1)),
        b"mem_allocator:python",
    ]


def _jobs(front: Frontend, _facts: ServerFacts, _now_ms: int) -> list[bytes]:
    return [b"registered_jobs:%d" % front.node.jobs.count()]


def _queues(front: Frontend, _facts: ServerFacts, _now_ms: int) -> list[bytes]:
    return [b"registered_queues:%d" % front.node.queues.count()]


def _persistence(front: Frontend, _facts: ServerFacts, _now_ms: int) -> list[bytes]:
    is_on = front.settings.appendonly
    return [
        b"loading:%d" % front.is_loading,
        b"aof_enabled:%d" % is_on,
        b"aof_state:%b" % (b"on" if is_on else b"off"),
        b"aof_rewrite_in_progress:0",
        b"aof_rewrite_scheduled:0",
        b"aof_last_rewrite_time_sec:-1",
        b"aof_current_rewrite_time_sec:-1",
        b"aof_last_bgrewrite_status:ok",
        b"aof_last_write_status:%b" % (b"err" if front.write_error else b"ok"),
    ]


def _stats(front: Frontend, facts: ServerFacts, now_ms: int) -> list[bytes]:
    traffic = front.traffic
    return [
        b"total_connections_received:%d" % traffic.connections_received,
        b"total_commands_processed:%d" % traffic.commands,
        b"instantaneous_ops_per_sec:%d" % traffic.commands_per_second(now_ms),
        b"total_net_input_bytes:%d" % traffic.input_bytes,
        b"total_net_output_bytes:%d" % traffic.output_bytes,
        b"instantaneous_input_kbps:%.2f" % (traffic.input_bytes_per_second(now_ms) / KIB),
        b"instantaneous_output_kbps:%.2f" % (traffic.output_bytes_per_second(now_ms) / KIB),
        b"rejected_connections:%d" % traffic.connections_rejected,
        b"latest_fork_usec:0",
        b"internal_errors:%d" % front.internal_errors,
        b"core_build:%b" % facts.build.core_build,
    ]


def _cpu(_front: Frontend, facts: ServerFacts, _now_ms: int) -> list[bytes]:
    return [
        b"used_cpu_sys:%.2f" % facts.cpu.system_s,
        b"used_cpu_user:%.2f" % facts.cpu.user_s,
        b"used_cpu_sys_children:%.2f" % facts.cpu.children_system_s,
        b"used_cpu_user_children:%.2f" % facts.cpu.children_user_s,
    ]


def _command_statistics(front: Frontend, _facts: ServerFacts, _now_ms: int) -> list[bytes]:
    return [
        b"cmdstat_%b:calls=%d,usec=%d,usec_per_call=%.2f"
        % (
            entry.command.name,
            entry.calls,
            entry.nanoseconds // 1_000,
            entry.nanoseconds / 1_000 / entry.calls,
        )
        for entry in front.table
        if entry.calls > 0
    ]


Section = tuple[bytes, Callable[[Frontend, ServerFacts, int], list[bytes]]]

DEFAULT_SECTIONS: Final[tuple[Section, ...]] = (
    (b"Server", _server),
    (b"Clients", _clients),
    (b"Memory", _memory),
    (b"Jobs", _jobs),
    (b"Queues", _queues),
    (b"Persistence", _persistence),
    (b"Stats", _stats),
    (b"CPU", _cpu),
)
# Long, and wanted by few: shown only when asked for.
COMMAND_STATISTICS: Final[Section] = (b"Commandstats", _command_statistics)
