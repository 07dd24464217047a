"""The configuration of a node, as typed values.

`Settings()` holds the defaults. Each attribute is named after its directive with `_` for `-`; only
`client-output-buffer-limit` is three numbers. How the text of a directive becomes a value, and the
reverse, is said in `disque.model.directives`; which directives exist, in
`disque.model.directive_table`.

Whoever derives something from a setting recomputes it when told that settings changed; everybody
else reads the attribute when it is needed. Paths keep undecodable bytes as surrogate escapes, which
is what the file system functions expect.
"""

from __future__ import annotations

from typing import Final, final

__all__ = ["Settings", "SettingsError", "UnavailableError"]

MIB: Final = 1024 * 1024


class SettingsError(Exception):
    """A directive that cannot be taken as it stands; `message` is a sentence for the operator."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnavailableError(SettingsError):
    """The value makes sense, but this version cannot do what it asks for."""


@final
class Settings:
    """One value per directive, all of them valid at any time."""

    __slots__ = (
        "activerehashing",
        "aof_enqueue_jobs_once",
        "aof_load_truncated",
        "aof_rewrite_incremental_fsync",
        "appendfilename",
        "appendfsync",
        "appendonly",
        "auto_aof_rewrite_min_size",
        "auto_aof_rewrite_percentage",
        "bind",
        "cluster_config_file",
        "cluster_node_timeout",
        "daemonize",
        "databases",
        "dir",
        "hz",
        "latency_monitor_threshold",
        "log_format",
        "logfile",
        "loglevel",
        "maxclients",
        "maxmemory",
        "maxmemory_policy",
        "maxmemory_samples",
        "no_appendfsync_on_rewrite",
        "output_limit_hard",
        "output_limit_soft",
        "output_limit_soft_seconds",
        "pidfile",
        "port",
        "rename_command",
        "requirepass",
        "retry_from",
        "slowlog_log_slower_than",
        "slowlog_max_len",
        "syslog_enabled",
        "syslog_facility",
        "syslog_ident",
        "tcp_backlog",
        "tcp_keepalive",
        "timeout",
        "unixsocket",
        "unixsocketperm",
        "watchdog_period",
    )

    def __init__(self) -> None:
        # Clients and their connections.
        self.port = 7711
        self.bind: list[str] = []  # empty means every interface
        self.tcp_backlog = 511
        self.unixsocket = ""  # empty means none
        self.unixsocketperm = 0  # 0 leaves it to the umask
        self.timeout = 0  # seconds; 0 means never
        self.tcp_keepalive = 0  # seconds; 0 means off
        self.maxclients = 10_000
        self.requirepass = b""  # empty means that no password is asked for
        self.output_limit_hard = 0  # bytes; 0 means no limit
        self.output_limit_soft = 0  # bytes; 0 means no limit
        self.output_limit_soft_seconds = 0
        # Old and new name, in the order given; an empty new name removes the command.
        self.rename_command: list[tuple[bytes, bytes]] = []
        # The process and its logs.
        self.daemonize = False
        self.pidfile = "/var/run/disque.pid"
        self.dir = "."
        self.hz = 10
        self.watchdog_period = 0  # ms
        self.loglevel = "notice"
        self.logfile = ""  # empty means standard output
        self.log_format = "text"
        self.syslog_enabled = False
        self.syslog_ident = "disque"
        self.syslog_facility = "local0"
        self.slowlog_log_slower_than = 10_000  # microseconds; negative means never
        self.slowlog_max_len = 128
        self.latency_monitor_threshold = 0  # ms; 0 means off
        # Jobs and memory.
        self.maxmemory = 1024 * MIB  # bytes
        self.maxmemory_policy = "acks"
        self.maxmemory_samples = 5
        self.retry_from = "queued"
        # The cluster.
        self.cluster_config_file = "nodes.conf"
        self.cluster_node_timeout = 15_000  # ms
        # Persistence.
        self.appendonly = False
        self.appendfilename = "disque.aof"
        self.appendfsync = "everysec"
        self.no_appendfsync_on_rewrite = False
        self.auto_aof_rewrite_percentage = 100
        self.auto_aof_rewrite_min_size = 64 * MIB  # bytes
        self.aof_rewrite_incremental_fsync = True
        self.aof_load_truncated = True
        self.aof_enqueue_jobs_once = False
        # Accepted for the sake of existing files; nothing depends on them.
        self.databases = 16
        self.activerehashing = True
