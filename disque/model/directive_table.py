"""Every directive there is.

    READABLE    what CONFIG GET lists, in the order clients have always seen; ours come last
    DIRECTIVES  those, and the ones CONFIG GET does not show
    BY_NAME     how a line or CONFIG SET finds its directive; names are in lower case

`include` is not here: it is a matter of reading files, not a setting.
"""

from __future__ import annotations

from typing import Final

from disque.model.directives import (
    APPLIED,
    FIXED,
    INTEGER_MAX,
    INTEGER_MIN,
    RUN_TIME_ONLY,
    SETTABLE,
    Addresses,
    Directive,
    KeepAlive,
    Memory,
    Number,
    Octal,
    OutputLimits,
    Password,
    Renames,
    Text,
    Word,
    YesNo,
    resolved,
)
from disque.model.settings import Settings, UnavailableError

__all__ = ["BY_NAME", "DIRECTIVES", "READABLE"]

# What fits the integers of the operating system: backlogs, counts, seconds.
COUNT_MAX: Final = 2**31 - 1
PORT_MAX: Final = 65_535
HZ_MIN: Final = 1
HZ_MAX: Final = 500

LOG_LEVELS: Final = ("debug", "verbose", "notice", "warning")
LOG_FACILITIES: Final = (
    "user",
    "local0",
    "local1",
    "local2",
    "local3",
    "local4",
    "local5",
    "local6",
    "local7",
)


def _set_hz(settings: Settings, value: int) -> None:
    settings.hz = min(max(value, HZ_MIN), HZ_MAX)


def _set_watchdog_period(settings: Settings, value: int) -> None:
    # A period shorter than two turns of the periodic task would always ring.
    shortest_ms = 2 * (1000 // settings.hz)
    settings.watchdog_period = max(value, shortest_ms) if value > 0 else 0


def _set_appendonly(settings: Settings, value: bool) -> None:
    if value:
        _require_persistence()
    settings.appendonly = value


def _require_persistence() -> None:
    """Refuse to promise what nobody does yet: jobs live in memory alone."""
    raise UnavailableError("appendonly is not available in this version")


def _set_dir(settings: Settings, value: str) -> None:
    settings.dir = resolved(settings.dir, value)


def _is_path(text: str) -> bool:
    return "\0" not in text


def _is_named_path(text: str) -> bool:
    return bool(text) and "\0" not in text


def _is_file_name(text: str) -> bool:
    return _is_named_path(text) and "/" not in text and "\\" not in text


def _set_maxmemory(settings: Settings, value: int) -> None:
    settings.maxmemory = value


def _set_maxmemory_samples(settings: Settings, value: int) -> None:
    settings.maxmemory_samples = value


def _set_timeout(settings: Settings, value: int) -> None:
    settings.timeout = value


def _set_auto_aof_rewrite_percentage(settings: Settings, value: int) -> None:
    settings.auto_aof_rewrite_percentage = value


def _set_auto_aof_rewrite_min_size(settings: Settings, value: int) -> None:
    settings.auto_aof_rewrite_min_size = value


def _set_slowlog_log_slower_than(settings: Settings, value: int) -> None:
    settings.slowlog_log_slower_than = value


def _set_latency_monitor_threshold(settings: Settings, value: int) -> None:
    settings.latency_monitor_threshold = value


def _set_slowlog_max_len(settings: Settings, value: int) -> None:
    settings.slowlog_max_len = value


def _set_port(settings: Settings, value: int) -> None:
    settings.port = value


def _set_tcp_backlog(settings: Settings, value: int) -> None:
    settings.tcp_backlog = value


def _set_databases(settings: Settings, value: int) -> None:
    settings.databases = value


def _set_maxclients(settings: Settings, value: int) -> None:
    settings.maxclients = value


def _set_cluster_node_timeout(settings: Settings, value: int) -> None:
    settings.cluster_node_timeout = value


def _set_no_appendfsync_on_rewrite(settings: Settings, value: bool) -> None:
    settings.no_appendfsync_on_rewrite = value


def _set_daemonize(settings: Settings, value: bool) -> None:
    settings.daemonize = value


def _set_activerehashing(settings: Settings, value: bool) -> None:
    settings.activerehashing = value


def _set_aof_rewrite_incremental_fsync(settings: Settings, value: bool) -> None:
    settings.aof_rewrite_incremental_fsync = value


def _set_aof_load_truncated(settings: Settings, value: bool) -> None:
    settings.aof_load_truncated = value


def _set_aof_enqueue_jobs_once(settings: Settings, value: bool) -> None:
    settings.aof_enqueue_jobs_once = value


def _set_syslog_enabled(settings: Settings, value: bool) -> None:
    settings.syslog_enabled = value


def _set_unixsocket(settings: Settings, value: str) -> None:
    settings.unixsocket = value


def _set_logfile(settings: Settings, value: str) -> None:
    settings.logfile = value


def _set_pidfile(settings: Settings, value: str) -> None:
    settings.pidfile = value


def _set_maxmemory_policy(settings: Settings, value: str) -> None:
    settings.maxmemory_policy = value


def _set_loglevel(settings: Settings, value: str) -> None:
    settings.loglevel = value


def _set_appendfsync(settings: Settings, value: str) -> None:
    settings.appendfsync = value


def _set_syslog_facility(settings: Settings, value: str) -> None:
    settings.syslog_facility = value


def _set_appendfilename(settings: Settings, value: str) -> None:
    settings.appendfilename = value


def _set_cluster_config_file(settings: Settings, value: str) -> None:
    settings.cluster_config_file = value


def _set_syslog_ident(settings: Settings, value: str) -> None:
    settings.syslog_ident = value


def _set_retry_from(settings: Settings, value: str) -> None:
    settings.retry_from = value


def _set_log_format(settings: Settings, value: str) -> None:
    settings.log_format = value


READABLE: Final[tuple[Directive, ...]] = (
    Directive("requirepass", SETTABLE, Password()),
    Directive(
        "unixsocket",
        FIXED,
        Text(
            lambda settings: settings.unixsocket,
            _set_unixsocket,
            _is_path,
            "Invalid unixsocket value",
            is_optional=True,
        ),
    ),
    Directive(
        "logfile",
        FIXED,
        Text(lambda settings: settings.logfile, _set_logfile, _is_path, "Invalid logfile value"),
    ),
    Directive(
        "pidfile",
        FIXED,
        Text(lambda settings: settings.pidfile, _set_pidfile, _is_path, "Invalid pidfile value"),
    ),
    Directive(
        "maxmemory",
        SETTABLE,
        Memory(
            lambda settings: settings.maxmemory,
            _set_maxmemory,
            1,
            "You need to specify a memory limit greater than zero",
        ),
    ),
    Directive(
        "maxmemory-samples",
        SETTABLE,
        Number(
            lambda settings: settings.maxmemory_samples,
            _set_maxmemory_samples,
            1,
            COUNT_MAX,
            "maxmemory-samples must be 1 or greater",
        ),
    ),
    Directive(
        "timeout",
        SETTABLE,
        Number(
            lambda settings: settings.timeout,
            _set_timeout,
            0,
            COUNT_MAX,
            "Invalid timeout value",
        ),
    ),
    Directive(
        "auto-aof-rewrite-percentage",
        SETTABLE,
        Number(
            lambda settings: settings.auto_aof_rewrite_percentage,
            _set_auto_aof_rewrite_percentage,
            0,
            COUNT_MAX,
            "Invalid negative percentage for AOF auto rewrite",
        ),
    ),
    Directive(
        "auto-aof-rewrite-min-size",
        SETTABLE,
        Memory(
            lambda settings: settings.auto_aof_rewrite_min_size,
            _set_auto_aof_rewrite_min_size,
            0,
            "Invalid auto-aof-rewrite-min-size value",
        ),
    ),
    Directive(
        "slowlog-log-slower-than",
        SETTABLE,
        Number(
            lambda settings: settings.slowlog_log_slower_than,
            _set_slowlog_log_slower_than,
            INTEGER_MIN,
            INTEGER_MAX,
            "Invalid slowlog-log-slower-than value",
        ),
    ),
    Directive(
        "latency-monitor-threshold",
        SETTABLE,
        Number(
            lambda settings: settings.latency_monitor_threshold,
            _set_latency_monitor_threshold,
            0,
            INTEGER_MAX,
            "The latency threshold can't be negative",
        ),
    ),
    Directive(
        "slowlog-max-len",
        SETTABLE,
        Number(
            lambda settings: settings.slowlog_max_len,
            _set_slowlog_max_len,
            0,
            COUNT_MAX,
            "Invalid slowlog-max-len value",
        ),
    ),
    Directive(
        "port",
        FIXED,
        Number(lambda settings: settings.port, _set_port, 0, PORT_MAX, "Invalid port"),
    ),
    Directive(
        "tcp-backlog",
        FIXED,
        Number(
            lambda settings: settings.tcp_backlog,
            _set_tcp_backlog,
            0,
            COUNT_MAX,
            "Invalid backlog value",
        ),
    ),
    Directive(
        "databases",
        FIXED,
        Number(
            lambda settings: settings.databases,
            _set_databases,
            1,
            COUNT_MAX,
            "Invalid number of databases",
        ),
    ),
    Directive(
        "maxclients",
        APPLIED,
        Number(
            lambda settings: settings.maxclients,
            _set_maxclients,
            1,
            COUNT_MAX,
            "Invalid max clients limit",
        ),
    ),
    Directive(
        "watchdog-period",
        RUN_TIME_ONLY,
        Number(
            lambda settings: settings.watchdog_period,
            _set_watchdog_period,
            0,
            COUNT_MAX,
            "Invalid watchdog-period value",
        ),
    ),
    Directive(
        "hz",
        SETTABLE,
        Number(
            lambda settings: settings.hz,
            _set_hz,
            INTEGER_MIN,
            INTEGER_MAX,
            "Invalid hz value",
            run_time_minimum=0,
        ),
    ),
    Directive(
        "cluster-node-timeout",
        SETTABLE,
        Number(
            lambda settings: settings.cluster_node_timeout,
            _set_cluster_node_timeout,
            1,
            INTEGER_MAX,
            "cluster node timeout must be 1 or greater",
        ),
    ),
    Directive("tcp-keepalive", SETTABLE, KeepAlive()),
    Directive(
        "no-appendfsync-on-rewrite",
        FIXED,
        YesNo(lambda settings: settings.no_appendfsync_on_rewrite, _set_no_appendfsync_on_rewrite),
    ),
    Directive("daemonize", FIXED, YesNo(lambda settings: settings.daemonize, _set_daemonize)),
    Directive(
        "activerehashing",
        SETTABLE,
        YesNo(lambda settings: settings.activerehashing, _set_activerehashing),
    ),
    Directive(
        "aof-rewrite-incremental-fsync",
        SETTABLE,
        YesNo(
            lambda settings: settings.aof_rewrite_incremental_fsync,
            _set_aof_rewrite_incremental_fsync,
        ),
    ),
    Directive(
        "aof-load-truncated",
        SETTABLE,
        YesNo(lambda settings: settings.aof_load_truncated, _set_aof_load_truncated),
    ),
    Directive(
        "aof-enqueue-jobs-once",
        SETTABLE,
        YesNo(lambda settings: settings.aof_enqueue_jobs_once, _set_aof_enqueue_jobs_once),
    ),
    Directive(
        "maxmemory-policy",
        SETTABLE,
        Word(
            lambda settings: settings.maxmemory_policy,
            _set_maxmemory_policy,
            ("acks", "noeviction"),
            "Invalid maxmemory policy",
        ),
    ),
    Directive(
        "loglevel",
        APPLIED,
        Word(
            lambda settings: settings.loglevel,
            _set_loglevel,
            LOG_LEVELS,
            "Invalid log level. Must be one of debug, verbose, notice, warning",
        ),
    ),
    Directive(
        "appendfsync",
        SETTABLE,
        Word(
            lambda settings: settings.appendfsync,
            _set_appendfsync,
            ("always", "everysec", "no"),
            "argument must be 'no', 'always' or 'everysec'",
        ),
    ),
    Directive(
        "syslog-facility",
        FIXED,
        Word(
            lambda settings: settings.syslog_facility,
            _set_syslog_facility,
            LOG_FACILITIES,
            "Invalid log facility. Must be one of USER or between LOCAL0-LOCAL7",
        ),
    ),
    Directive("appendonly", SETTABLE, YesNo(lambda settings: settings.appendonly, _set_appendonly)),
    Directive(
        "dir",
        APPLIED,
        Text(lambda settings: settings.dir, _set_dir, _is_named_path, "Invalid dir value"),
    ),
    Directive("client-output-buffer-limit", SETTABLE, OutputLimits()),
    Directive("unixsocketperm", FIXED, Octal()),
    Directive("bind", FIXED, Addresses()),
    Directive(
        "retry-from",
        SETTABLE,
        Word(
            lambda settings: settings.retry_from,
            _set_retry_from,
            ("queued", "delivered"),
            "argument must be 'queued' or 'delivered'",
        ),
    ),
    Directive(
        "log-format",
        APPLIED,
        Word(
            lambda settings: settings.log_format,
            _set_log_format,
            ("text", "json"),
            "argument must be 'text' or 'json'",
        ),
    ),
)

# CONFIG GET does not show these.
HIDDEN: Final[tuple[Directive, ...]] = (
    Directive(
        "appendfilename",
        FIXED,
        Text(
            lambda settings: settings.appendfilename,
            _set_appendfilename,
            _is_file_name,
            "appendfilename can't be a path, just a filename",
        ),
    ),
    Directive(
        "cluster-config-file",
        FIXED,
        Text(
            lambda settings: settings.cluster_config_file,
            _set_cluster_config_file,
            _is_named_path,
            "Invalid cluster-config-file value",
        ),
    ),
    Directive(
        "syslog-enabled",
        FIXED,
        YesNo(lambda settings: settings.syslog_enabled, _set_syslog_enabled),
    ),
    Directive(
        "syslog-ident",
        FIXED,
        Text(
            lambda settings: settings.syslog_ident,
            _set_syslog_ident,
            _is_path,
            "Invalid syslog-ident value",
        ),
    ),
    Directive("rename-command", FIXED, Renames()),
)

DIRECTIVES: Final[tuple[Directive, ...]] = READABLE + HIDDEN

BY_NAME: Final[dict[bytes, Directive]] = {
    directive.name.encode("ascii"): directive for directive in DIRECTIVES
}
