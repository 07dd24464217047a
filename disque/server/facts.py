"""Collect the facts about the process and the machine that INFO shows.

What cannot change while the process runs is collected once, when the server starts; the rest is
read from the kernel at each question, which costs microseconds.
"""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import sys
from pathlib import Path
from typing import Final

import disque
from disque.core import stats
from disque.model.facts import BuildFacts, CpuFacts, ProcessFacts, ServerFacts

__all__ = ["GIT_SHA1_VARIABLE", "read_build_facts", "read_rss_bytes", "read_server_facts"]

# Whoever packages the server may say which commit it was made from; nothing is guessed.
GIT_SHA1_VARIABLE: Final = "DISQUE_GIT_SHA1"
UNKNOWN_GIT_SHA1: Final = "00000000"

STATM: Final = Path("/proc/self/statm")


def read_build_facts(event_loop: str) -> BuildFacts:
    """Describe what runs; `event_loop` names the library behind the loop."""
    is_compiled = not stats.__file__.endswith((".py", ".pyc"))
    core_build = b"compiled" if is_compiled else b"interpreted"
    version = disque.__version__.encode()
    git_sha1 = os.environ.get(GIT_SHA1_VARIABLE, UNKNOWN_GIT_SHA1).encode()
    build = hashlib.sha256(b"%b %b %b" % (version, git_sha1, core_build))
    return BuildFacts(
        version=version,
        git_sha1=git_sha1,
        build_id=build.hexdigest()[:16].encode(),
        python=platform.python_version().encode(),
        event_loop=event_loop.encode(),
        core_build=core_build,
    )


def read_server_facts(
    build: BuildFacts,
    run_id: bytes,
    tcp_port: int,
    uptime_s: int,
    executable: str,
    config_file: str,
    longest_output_list: int,
    biggest_input_buffer: int,
) -> ServerFacts:
    """Describe the server as it is now. Both paths are absolute; no `config_file` is empty."""
    system = os.uname()
    process = ProcessFacts(
        pid=os.getpid(),
        run_id=run_id,
        tcp_port=tcp_port,
        uptime_s=uptime_s,
        executable=os.fsencode(executable),
        config_file=os.fsencode(config_file),
        os=f"{system.sysname} {system.release} {system.machine}".encode(),
        arch_bits=64 if sys.maxsize > 2**32 else 32,
    )
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = CpuFacts(own.ru_stime, own.ru_utime, children.ru_stime, children.ru_utime)
    return ServerFacts(
        build, process, cpu, read_rss_bytes(), longest_output_list, biggest_input_buffer
    )


def read_rss_bytes(statm: Path = STATM) -> int:
    """Return the resident memory of this process; its peak where the kernel tells no more."""
    try:
        pages = int(statm.read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
