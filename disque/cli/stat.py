"""The vital numbers of a node, one row per interval."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from disque.cli.connection import Connection, ConnectionLostError
from disque.cli.options import Options
from disque.cli.output import Output, complain
from disque.cli.replies import ErrorReply, Reply

__all__ = ["HEADER", "info_fields", "show_statistics", "statistics_row"]

HEADER_EVERY: Final = 20
INTERVAL_S: Final = 1.0

_COLUMNS: Final = (
    ("jobs", 10),
    ("queues", 8),
    ("mem", 9),
    ("clients", 8),
    ("blocked", 8),
    ("requests", 24),
    ("connections", 12),
    ("rewrite", 8),
)

HEADER: Final = " ".join(f"{name:<{width}}" for name, width in _COLUMNS).rstrip()


def show_statistics(connection: Connection, output: Output, options: Options) -> int:
    """Print rows until interrupted, or as many as `-r` says."""
    interval_s = INTERVAL_S if options.interval_s is None else options.interval_s
    rows_left = -1 if options.repeat is None else options.repeat
    previous: dict[str, str] | None = None
    row = 0
    try:
        while rows_left != 0:
            reply = _call_info(connection)
            if isinstance(reply, ErrorReply) or not isinstance(reply, bytes):
                text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else repr(reply)
                complain(f"Error: INFO was answered: {text}")
                return 1
            fields = info_fields(reply)
            if row % HEADER_EVERY == 0:
                output.line(HEADER)
            output.line(statistics_row(fields, previous))
            previous = fields
            row += 1
            rows_left -= 1
            if rows_left != 0:
                time.sleep(interval_s)
    except KeyboardInterrupt:
        pass
    return 0


def info_fields(text: bytes) -> dict[str, str]:
    """Read the `name:value` lines of INFO."""
    fields: dict[str, str] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if colon and not name.startswith("#"):
            fields[name] = value
    return fields


def statistics_row(fields: Mapping[str, str], previous: Mapping[str, str] | None = None) -> str:
    """Lay out one row; `previous` is what the last row was made of."""
    requests = _count(fields, "total_commands_processed")
    before = requests if previous is None else _count(previous, "total_commands_processed")
    cells = (
        fields.get("registered_jobs", "-"),
        fields.get("registered_queues", "-"),
        _size(_count(fields, "used_memory")),
        fields.get("connected_clients", "-"),
        fields.get("blocked_clients", "-"),
        f"{requests} (+{max(0, requests - before)})",
        fields.get("total_connections_received", "-"),
        "AOF" if fields.get("aof_rewrite_in_progress") == "1" else "",
    )
    row = " ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    return row.rstrip()


def _call_info(connection: Connection) -> Reply:
    """Ask for INFO, on a new connection if the old one broke."""
    try:
        return connection.call([b"INFO"])
    except ConnectionLostError:
        connection.open()
        return connection.call([b"INFO"])


def _count(fields: Mapping[str, str], name: str) -> int:
    value = fields.get(name, "")
    return int(value) if value.isdecimal() else 0


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), "B"
    for larger in "KMGTP":
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size_bytes}B" if unit == "B" else f"{size:.2f}{unit}"
