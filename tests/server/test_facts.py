"""Facts about the process are true."""

import os
import sys
from pathlib import Path

import pytest

import disque
from disque.model.facts import ServerFacts
from disque.server import facts
from tests.support.server import ServerProcess


def read(config_file: str = "") -> ServerFacts:
    build = facts.read_build_facts("uvloop")
    program = "/bin/disque-server"
    return facts.read_server_facts(build, b"a" * 40, 7711, 12, program, config_file, 3, 4)


def test_the_process_is_this_one() -> None:
    server = read("/etc/disque.conf")

    assert server.process.pid == os.getpid()
    assert server.process.executable == b"/bin/disque-server"
    assert server.process.config_file == b"/etc/disque.conf"
    assert server.process.os.startswith(os.uname().sysname.encode())
    assert server.process.arch_bits in (32, 64)


def test_what_the_caller_knows_is_passed_on() -> None:
    server = read()

    assert (server.process.run_id, server.process.tcp_port) == (b"a" * 40, 7711)
    assert (server.process.uptime_s, server.process.config_file) == (12, b"")
    assert (server.longest_output_list, server.biggest_input_buffer) == (3, 4)


def test_processor_time_was_spent_and_memory_is_used() -> None:
    server = read()

    assert server.cpu.user_s > 0
    assert server.rss_bytes > 1_000_000


def test_the_build_names_version_interpreter_and_loop() -> None:
    build = facts.read_build_facts("uvloop")

    assert build.version == disque.__version__.encode()
    assert build.python.split(b".")[0] == b"%d" % sys.version_info.major
    assert build.event_loop == b"uvloop"
    assert build.core_build in (b"compiled", b"interpreted")
    assert int(build.build_id, 16) > 0


def test_the_commit_is_unknown_unless_the_packager_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(facts.GIT_SHA1_VARIABLE, raising=False)
    unknown = facts.read_build_facts("uvloop")
    monkeypatch.setenv(facts.GIT_SHA1_VARIABLE, "cafe0123")
    told = facts.read_build_facts("uvloop")

    assert unknown.git_sha1 == b"00000000"
    assert told.git_sha1 == b"cafe0123"
    assert told.build_id != unknown.build_id


def test_without_proc_the_peak_stands_in_for_the_resident_memory(tmp_path: Path) -> None:
    assert facts.read_rss_bytes(tmp_path / "nosuch") > 1_000_000


@pytest.mark.process
def test_a_program_started_by_a_relative_path_is_shown_where_it_is(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "disque-server"
    elsewhere = tmp_path / "deep" / "elsewhere"
    elsewhere.mkdir(parents=True)
    relative = os.path.relpath(program, tmp_path)

    with ServerProcess(tmp_path, "--dir", str(elsewhere), program=[relative]) as server:
        info = server.wire().ask("INFO", "server")

    shown = next(line for line in info.splitlines() if line.startswith(b"executable:"))
    path = Path(os.fsdecode(shown.removeprefix(b"executable:")))
    assert path.is_absolute()
    assert path.resolve() == program.resolve()
