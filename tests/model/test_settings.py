"""A node that was told nothing runs with settings that make sense."""

from __future__ import annotations

import pytest

from disque.model.directive_table import DIRECTIVES
from disque.model.directives import RUN_TIME_ONLY
from disque.model.settings import Settings, SettingsError, UnavailableError
from tests.model.helpers import shown


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("requirepass", b""),
        ("unixsocket", b""),
        ("logfile", b""),
        ("pidfile", b"/var/run/disque.pid"),
        ("maxmemory", b"1073741824"),
        ("maxmemory-samples", b"5"),
        ("timeout", b"0"),
        ("auto-aof-rewrite-percentage", b"100"),
        ("auto-aof-rewrite-min-size", b"67108864"),
        ("slowlog-log-slower-than", b"10000"),
        ("latency-monitor-threshold", b"0"),
        ("slowlog-max-len", b"128"),
        ("port", b"7711"),
        ("tcp-backlog", b"511"),
        ("databases", b"16"),
        ("maxclients", b"10000"),
        ("watchdog-period", b"0"),
        ("hz", b"10"),
        ("cluster-node-timeout", b"15000"),
        ("tcp-keepalive", b"no"),
        ("no-appendfsync-on-rewrite", b"no"),
        ("daemonize", b"no"),
        ("activerehashing", b"yes"),
        ("aof-rewrite-incremental-fsync", b"yes"),
        ("aof-load-truncated", b"yes"),
        ("aof-enqueue-jobs-once", b"no"),
        ("maxmemory-policy", b"acks"),
        ("loglevel", b"notice"),
        ("appendfsync", b"everysec"),
        ("syslog-facility", b"local0"),
        ("appendonly", b"no"),
        ("client-output-buffer-limit", b"normal 0 0 0"),
        ("unixsocketperm", b"0"),
        ("bind", b""),
        ("retry-from", b"queued"),
        ("log-format", b"text"),
        ("appendfilename", b"disque.aof"),
        ("cluster-config-file", b"nodes.conf"),
        ("syslog-enabled", b"no"),
        ("syslog-ident", b"disque"),
    ],
)
def test_default_is_shown(name: str, default: bytes) -> None:
    assert shown(name, Settings()) == default


def test_every_default_could_have_been_given_in_a_file() -> None:
    settings = Settings()

    for directive in DIRECTIVES:
        if directive.access != RUN_TIME_ONLY and directive.written(settings):
            directive.read(settings, directive.written(settings))

    defaults = [directive.written(Settings()) for directive in DIRECTIVES]
    assert [directive.written(settings) for directive in DIRECTIVES] == defaults


def test_two_nodes_share_no_settings() -> None:
    first, second = Settings(), Settings()

    first.bind.append("10.0.0.1")
    first.rename_command.append((b"debug", b""))

    assert (second.bind, second.rename_command) == ([], [])


def test_problem_is_a_sentence_for_the_operator() -> None:
    problem = SettingsError("Invalid port")

    assert (problem.message, str(problem)) == ("Invalid port", "Invalid port")


def test_what_this_version_cannot_do_is_a_problem_like_others() -> None:
    with pytest.raises(SettingsError) as caught:
        raise UnavailableError("appendonly is not available in this version")

    assert caught.value.message == "appendonly is not available in this version"
