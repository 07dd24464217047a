"""The command table: every command by name, as plain data.

`COMMANDS` is what the server answers to: COMMAND lists it in this order, INFO's commandstats
follow it, and dispatch takes arity and flags from it. The handlers live elsewhere and are bound
to the names when dispatch is built, so that help, completion and the reference can be made from
this file without loading the server.

`FORMS` describes subcommands one by one. They exist for people alone (help, completion,
docs/commands.md): dispatch knows only the containers. QUIT is a form because it is answered
before the table is looked at.

Syntax is written like this: words in capitals are typed as they are, words in lower case are
replaced by a value, [brackets] are optional, a|b is a choice, and `...` repeats what precedes it.
"""

from __future__ import annotations

from typing import Final, final

__all__ = ["COMMANDS", "FLAGS", "FORMS", "GROUPS", "Command", "Form"]

# The order in which COMMAND shows flags.
FLAGS: Final = (
    b"write",
    b"readonly",
    b"denyoom",
    b"admin",
    b"random",
    b"loading",
    b"skip_monitor",
    b"fast",
)

# The order of `help` and of the reference.
GROUPS: Final = ("connection", "server", "cluster", "queues", "jobs")


@final
class Command:
    """What the server and its users know about a command before it runs.

    `arity` counts the name itself; a negative arity means "at least", 0 means "any".
    """

    __slots__ = (
        "arity",
        "flags",
        "group",
        "is_deny_oom",
        "is_fast",
        "is_loading",
        "is_write",
        "name",
        "summary",
        "syntax",
    )

    def __init__(
        self, name: bytes, arity: int, flags: bytes, group: str, syntax: str, summary: str
    ) -> None:
        self.name = name
        self.arity = arity
        self.flags: tuple[bytes, ...] = tuple(flags.split())
        self.group = group
        self.syntax = syntax
        self.summary = summary
        # Dispatch asks these for every command: plain attributes, not searches in a tuple.
        self.is_write = b"write" in self.flags
        self.is_deny_oom = b"denyoom" in self.flags
        self.is_loading = b"loading" in self.flags
        self.is_fast = b"fast" in self.flags


@final
class Form:
    """A subcommand as a person types it, such as CLIENT KILL."""

    __slots__ = ("group", "name", "summary", "syntax")

    def __init__(self, name: str, group: str, syntax: str, summary: str) -> None:
        self.name = name
        self.group = group
        self.syntax = syntax
        self.summary = summary


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        b"auth",
        -2,
        b"readonly loading fast",
        "connection",
        "[default] password",
        "Authenticate the connection with the password of `requirepass`.",
    ),
    Command(
        b"ping",
        -1,
        b"readonly fast",
        "connection",
        "[message]",
        "Answer PONG, or the message if one is given.",
    ),
    Command(
        b"info",
        -1,
        b"readonly loading",
        "server",
        "[section|default|all]",
        "Show the state and the statistics of this node as text. The sections are server, "
        "clients, memory, jobs, queues, persistence, stats, cpu and commandstats.",
    ),
    Command(
        b"shutdown",
        -1,
        b"readonly admin loading",
        "server",
        "[REWRITE-AOF]",
        "Stop the server after its append only file is safe on disk; with REWRITE-AOF a fresh "
        "file is written first, even if persistence is off. Nothing is answered on success.",
    ),
    Command(
        b"monitor",
        1,
        b"readonly admin",
        "connection",
        "",
        "Stream every command the node executes, with time and sender, until disconnected.",
    ),
    Command(
        b"debug",
        -2,
        b"admin",
        "server",
        "subcommand [argument ...]",
        "Flush, reload, restart or break the server: for tests and emergencies.",
    ),
    Command(
        b"config",
        -2,
        b"readonly admin",
        "server",
        "GET|SET|RESETSTAT|REWRITE [argument ...]",
        "Read and change the configuration while the server runs.",
    ),
    Command(
        b"cluster",
        -2,
        b"readonly admin",
        "cluster",
        "subcommand [argument ...]",
        "Join nodes, inspect them, and take them out of the cluster.",
    ),
    Command(
        b"client",
        -2,
        b"readonly admin",
        "connection",
        "subcommand [argument ...]",
        "List, name, pause and close client connections.",
    ),
    Command(
        b"slowlog",
        -2,
        b"readonly",
        "server",
        "GET|LEN|RESET [argument]",
        "Read the log of commands that ran longer than `slowlog-log-slower-than` microseconds.",
    ),
    Command(
        b"time",
        1,
        b"readonly fast",
        "server",
        "",
        "Tell the server's clock: seconds since the epoch, and microseconds of that second.",
    ),
    Command(
        b"command",
        0,
        b"readonly loading",
        "server",
        "[COUNT|DOCS|INFO|LIST [name ...]]",
        "Describe every command: name, arity, flags and three zeros for key positions.",
    ),
    Command(
        b"latency",
        -2,
        b"readonly admin loading",
        "server",
        "LATEST|HISTORY|RESET|GRAPH|DOCTOR [argument ...]",
        "Read the spikes recorded when `latency-monitor-threshold` is set.",
    ),
    Command(
        b"hello",
        -1,
        b"readonly fast",
        "cluster",
        "[2|3 [AUTH user password] [SETNAME name]]",
        "Without arguments: list this node and the others with address and priority (1 is good, "
        "100 is failed or leaving). With a number: choose the protocol version, as Redis "
        "clients do when they connect.",
    ),
    Command(
        b"addjob",
        -4,
        b"write denyoom fast",
        "jobs",
        "queue job ms-timeout [REPLICATE n] [DELAY s] [RETRY s] [TTL s] [MAXLEN n] [ASYNC]",
        "Add a job to a queue and answer its id once REPLICATE nodes hold a copy, or fail with "
        "NOREPL after ms-timeout (0 waits forever).",
    ),
    Command(
        b"getjob",
        -2,
        b"write fast",
        "jobs",
        "[NOHANG] [TIMEOUT ms] [COUNT n] [WITHCOUNTERS] FROM queue [queue ...]",
        "Fetch jobs from the named queues, the leftmost first, and wait for one if all are "
        "empty. What is not acknowledged in time is delivered again.",
    ),
    Command(
        b"ackjob",
        -1,
        b"write fast",
        "jobs",
        "[job-id ...]",
        "Acknowledge jobs, so that the whole cluster forgets them; answers how many were known "
        "here and not yet acknowledged.",
    ),
    Command(
        b"fastack",
        -1,
        b"write fast",
        "jobs",
        "[job-id ...]",
        "Acknowledge jobs with one best-effort message: cheaper than ACKJOB, but after a failure "
        "a job may be delivered again.",
    ),
    Command(
        b"deljob",
        -1,
        b"write fast",
        "jobs",
        "[job-id ...]",
        "Delete jobs from this node only; other copies stay and may be delivered.",
    ),
    Command(
        b"show",
        2,
        b"readonly fast",
        "jobs",
        "job-id",
        "Describe a job as this node knows it, or answer nil.",
    ),
    Command(
        b"loadjob",
        2,
        b"write",
        "jobs",
        "serialized-job",
        "Restore a job from the append only file; refused to clients.",
    ),
    Command(
        b"bgrewriteaof",
        1,
        b"readonly admin",
        "server",
        "",
        "Compact the append only file in the background.",
    ),
    Command(
        b"qlen",
        2,
        b"readonly fast",
        "queues",
        "queue",
        "Count the jobs waiting in a queue of this node.",
    ),
    Command(
        b"qpeek",
        3,
        b"readonly",
        "queues",
        "queue count",
        "Look at jobs in a queue without taking them: the oldest ones, or with a negative count "
        "the newest ones.",
    ),
    Command(
        b"qstat",
        2,
        b"readonly fast",
        "queues",
        "queue",
        "Describe a queue of this node: length, age, waiting clients, traffic and pause state.",
    ),
    Command(
        b"qscan",
        -1,
        b"readonly",
        "queues",
        "[cursor] [COUNT n] [BUSYLOOP] [MINLEN n] [MAXLEN n] [IMPORTRATE n]",
        "Iterate over the queues of this node; start with cursor 0 and go on with the answered "
        "cursor until it is 0 again.",
    ),
    Command(
        b"jscan",
        -1,
        b"readonly",
        "jobs",
        "[cursor] [COUNT n] [BUSYLOOP] [QUEUE queue] [STATE state ...] [REPLY all|id]",
        "Iterate over the jobs of this node, optionally of one queue or in the states wait-repl, "
        "active, queued or acked.",
    ),
    Command(
        b"enqueue",
        -1,
        b"write denyoom fast",
        "queues",
        "[job-id ...]",
        "Put jobs back into their queue now; answers how many were moved.",
    ),
    Command(
        b"nack",
        -1,
        b"write denyoom fast",
        "jobs",
        "[job-id ...]",
        "Give jobs back because they could not be processed: they are queued again at once, and "
        "the failure is counted.",
    ),
    Command(
        b"dequeue",
        -1,
        b"write fast",
        "queues",
        "[job-id ...]",
        "Take jobs out of their queue without delivering them; they return after their retry time.",
    ),
    Command(
        b"working",
        2,
        b"write fast",
        "jobs",
        "job-id",
        "Say that a job is still being processed: postpones its next delivery by its retry time, "
        "which is answered in seconds.",
    ),
    Command(
        b"pause",
        -3,
        b"readonly fast",
        "queues",
        "queue in|out|all|none|state|bcast [...]",
        "Stop a queue from taking or giving jobs, resume it, or ask for its state. With bcast "
        "the other nodes do the same.",
    ),
    # Not part of the original's table: expected by Redis clients.
    Command(
        b"echo",
        2,
        b"readonly fast",
        "connection",
        "message",
        "Answer the message.",
    ),
    Command(
        b"select",
        2,
        b"readonly loading fast",
        "connection",
        "0",
        "Accept database 0, the only one there is, so that Redis clients can connect.",
    ),
    Command(
        b"reset",
        1,
        b"readonly loading fast",
        "connection",
        "",
        "Put the connection back into the state it had when it was opened.",
    ),
)

FORMS: Final[tuple[Form, ...]] = (
    Form("QUIT", "connection", "", "Answer OK and close the connection."),
    Form("CLIENT GETNAME", "connection", "", "Tell the name of this connection, or nil."),
    Form("CLIENT ID", "connection", "", "Tell the number of this connection."),
    Form("CLIENT INFO", "connection", "", "Show the line of CLIENT LIST about this connection."),
    Form(
        "CLIENT KILL",
        "connection",
        "ip:port | [ID n] [ADDR ip:port] [TYPE normal] [SKIPME yes|no]",
        "Close the connection with this address, or all that match every filter; with filters "
        "the number of closed connections is answered.",
    ),
    Form("CLIENT LIST", "connection", "", "List the client connections, one per line."),
    Form(
        "CLIENT NO-EVICT",
        "connection",
        "on|off",
        "Accepted for the sake of Redis clients; changes nothing.",
    ),
    Form(
        "CLIENT NO-TOUCH",
        "connection",
        "on|off",
        "Accepted for the sake of Redis clients; changes nothing.",
    ),
    Form(
        "CLIENT PAUSE",
        "connection",
        "milliseconds",
        "Execute no commands of any client for this long; they are kept and run afterwards.",
    ),
    Form(
        "CLIENT REPLY",
        "connection",
        "ON|OFF|SKIP",
        "Answer commands again, no longer, or all but this one and the next.",
    ),
    Form(
        "CLIENT SETINFO",
        "connection",
        "LIB-NAME|LIB-VER value",
        "Tell the server which client library speaks to it.",
    ),
    Form(
        "CLIENT SETNAME",
        "connection",
        "name",
        "Name this connection for CLIENT LIST; an empty name removes it.",
    ),
    Form("COMMAND COUNT", "server", "", "Count the commands."),
    Form("COMMAND DOCS", "server", "[name ...]", "Answer summary, group and arity of commands."),
    Form("COMMAND INFO", "server", "[name ...]", "Describe the named commands; nil if unknown."),
    Form("COMMAND LIST", "server", "", "List the names of all commands."),
    Form(
        "CONFIG GET",
        "server",
        "pattern",
        "List the parameters whose names match the pattern (such as *memory*) and their values.",
    ),
    Form("CONFIG RESETSTAT", "server", "", "Set the counters shown by INFO back to zero."),
    Form(
        "CONFIG REWRITE",
        "server",
        "",
        "Write the running configuration into the file the server was started with.",
    ),
    Form("CONFIG SET", "server", "parameter value", "Change a parameter at once."),
    Form(
        "DEBUG ASSERT",
        "server",
        "",
        "Crash the server with a failed assertion.",
    ),
    Form(
        "DEBUG CRASH-AND-RECOVER",
        "server",
        "[milliseconds]",
        "Restart the process without shutting it down first.",
    ),
    Form("DEBUG ERROR", "server", "text", "Answer this text as an error."),
    Form(
        "DEBUG FLUSHALL",
        "server",
        "",
        "Delete every job and every queue of this node.",
    ),
    Form(
        "DEBUG LOADAOF",
        "server",
        "",
        "Drop every job and load the append only file again.",
    ),
    Form("DEBUG OOM", "server", "", "Crash the server as if memory had run out."),
    Form(
        "DEBUG RESTART",
        "server",
        "[milliseconds]",
        "Shut down cleanly, save the configuration and start again.",
    ),
    Form("DEBUG SEGFAULT", "server", "", "Crash the server with an invalid memory access."),
    Form(
        "DEBUG SLEEP",
        "server",
        "seconds",
        "Block the whole server for this long.",
    ),
    Form("DEBUG STRUCTSIZE", "server", "", "Tell the sizes of the internal structures."),
    Form(
        "LATENCY DOCTOR",
        "server",
        "",
        "Explain the recorded spikes and what may be done about them.",
    ),
    Form("LATENCY GRAPH", "server", "event", "Draw the spikes of an event as text."),
    Form("LATENCY HISTORY", "server", "event", "List the samples of an event: time and ms."),
    Form(
        "LATENCY LATEST",
        "server",
        "",
        "List for each event the time and the ms of its last spike, and its highest ms.",
    ),
    Form(
        "LATENCY RESET",
        "server",
        "[event ...]",
        "Forget the samples of the named events, or of all; answers how many series there were.",
    ),
    Form(
        "SLOWLOG GET",
        "server",
        "[count]",
        "List the latest entries: number, time, microseconds, arguments. The default is 10, a "
        "negative count asks for all.",
    ),
    Form("SLOWLOG LEN", "server", "", "Count the entries of the slow log."),
    Form("SLOWLOG RESET", "server", "", "Empty the slow log."),
    Form(
        "CLUSTER FORGET",
        "cluster",
        "node-id",
        "Remove a node from the view of this one, which ignores gossip about it for a minute.",
    ),
    Form("CLUSTER INFO", "cluster", "", "Show the size of the cluster and message counters."),
    Form(
        "CLUSTER LEAVING",
        "cluster",
        "[yes|no]",
        "Ask whether this node is leaving; or make it leave gracefully (it takes no new jobs) or "
        "return.",
    ),
    Form(
        "CLUSTER MEET",
        "cluster",
        "ip port [bus-port]",
        "Join this node and the one at the address, and with it their clusters.",
    ),
    Form("CLUSTER MYID", "cluster", "", "Tell the id of this node."),
    Form(
        "CLUSTER NODES",
        "cluster",
        "",
        "List the known nodes, one per line: id, address, flags, last ping and pong, link.",
    ),
    Form(
        "CLUSTER RESET",
        "cluster",
        "[SOFT|HARD]",
        "Forget all other nodes and delete all jobs and queues of this one; HARD also takes a "
        "new id.",
    ),
    Form("CLUSTER SAVECONFIG", "cluster", "", "Write the cluster's configuration file now."),
)
