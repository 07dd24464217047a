"""Which code answers which command, and under which name on this server.

`disque.commands.table` describes the commands without knowing their code, so that help and
documentation cost nothing to load; here the two meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from disque.commands import acks, connection, diagnostics, jobs, process, queues
from disque.commands.client import client
from disque.commands.cluster import cluster
from disque.commands.config import config
from disque.commands.frontend import Entry, Frontend, Handler
from disque.commands.info import info
from disque.commands.table import COMMANDS
from disque.core.node import Node
from disque.model.settings import Settings

__all__ = ["HANDLERS", "make_frontend"]

HANDLERS: Final[dict[bytes, Handler]] = {
    b"ackjob": acks.ackjob,
    b"addjob": jobs.addjob,
    b"auth": connection.auth,
    b"bgrewriteaof": process.bgrewriteaof,
    b"client": client,
    b"cluster": cluster,
    b"command": connection.command,
    b"config": config,
    b"debug": diagnostics.debug,
    b"deljob": acks.deljob,
    b"dequeue": acks.dequeue,
    b"echo": connection.echo,
    b"enqueue": acks.enqueue,
    b"fastack": acks.fastack,
    b"getjob": jobs.getjob,
    b"hello": connection.hello,
    b"info": info,
    b"jscan": jobs.jscan,
    b"latency": diagnostics.latency,
    b"loadjob": process.loadjob,
    b"monitor": connection.monitor,
    b"nack": acks.nack,
    b"pause": queues.pause,
    b"ping": connection.ping,
    b"qlen": queues.qlen,
    b"qpeek": queues.qpeek,
    b"qscan": queues.qscan,
    b"qstat": queues.qstat,
    b"reset": connection.reset,
    b"select": connection.select,
    b"show": jobs.show,
    b"shutdown": process.shutdown,
    b"slowlog": diagnostics.slowlog,
    b"time": connection.time,
    b"working": acks.working,
}


def make_frontend(node: Node, settings: Settings, stopwatch_ns: Callable[[], int]) -> Frontend:
    """Build the command layer of a node, with its commands renamed as the settings say."""
    front = Frontend(node, settings, stopwatch_ns)
    by_name = {command.name: Entry(command, HANDLERS[command.name]) for command in COMMANDS}
    front.table = list(by_name.values())
    for old, new in settings.rename_command:
        entry = by_name.pop(old.lower())
        if new:
            by_name[new.lower()] = entry
        else:
            front.table.remove(entry)
    for name, entry in by_name.items():
        # The two spellings clients use are found at once, any other one by its lower case.
        front.entries[name] = entry
        front.entries[name.upper()] = entry
    return front
