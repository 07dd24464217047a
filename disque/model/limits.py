"""Every bound of the server that is not a setting, with its unit and its reason."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CLIENT_BYTES",
    "COMMANDS_PER_TURN_MAX",
    "EVICTIONS_PER_COMMAND_MAX",
    "JOB_BYTES",
    "MENTIONED_QUEUES_BYTES_MAX",
    "MENTIONS_PER_COMMAND_MAX",
    "MONITOR_OUTPUT_BYTES_MAX",
    "NODE_BYTES",
    "QUERY_BYTES_MAX",
    "QUEUE_BYTES",
    "REMEMBERED_BYTES_MAX",
    "SECONDS_MAX",
    "SHOWN_BYTES_MAX",
    "STRANGER_BYTES_MAX",
    "TIMEOUT_MS_MAX",
    "TIMERS_PER_TICK_MAX",
    "TURN_NS_MAX",
    "UNSENT_BYTES_MAX",
    "WAITED_QUEUES_MAX",
]

# --- Logical memory: what maxmemory is compared with --------------------------------------------
# The account covers jobs, queues and clients, not the interpreter: operators reason about what
# they put in. The figures are near what each costs in reality, rounded to be easy to predict.
NODE_BYTES: Final = 800_000  # an empty node
JOB_BYTES: Final = 400  # a job without its body and the name of its queue
QUEUE_BYTES: Final = 700  # a queue without its name
CLIENT_BYTES: Final = 2_000  # a connection without its buffers
# All queues together that were asked for but never held a job: some 1 500 of them.
MENTIONED_QUEUES_BYTES_MAX: Final = 1 << 20

# --- Time ---------------------------------------------------------------------------------------
# TTL, RETRY and DELAY are clamped to 32 bits of seconds: 136 years, and sums still fit 64 bits.
SECONDS_MAX: Final = 2**32 - 1
# A timeout beyond this waits for ever in practice; saturating keeps deadlines within 64 bits.
TIMEOUT_MS_MAX: Final = SECONDS_MAX * 1_000

# --- Work per turn of the loop: bounds the pause one client or one moment can cause -------------
TIMERS_PER_TICK_MAX: Final = 1_000  # about 5 ms
COMMANDS_PER_TURN_MAX: Final = 512  # about 5 ms of small commands of one client
TURN_NS_MAX: Final = 5_000_000  # of one client's larger commands; the last one may take longer
EVICTIONS_PER_COMMAND_MAX: Final = 500  # about 2 ms
WAITED_QUEUES_MAX: Final = 1_000  # of one GETJOB: about 8 ms and 700 kB
MENTIONS_PER_COMMAND_MAX: Final = 1_000  # a GETJOB of more names than this makes no queues

# --- Buffers ------------------------------------------------------------------------------------
SHOWN_BYTES_MAX: Final = 1_024  # of what a client sent, where an error quotes it
REMEMBERED_BYTES_MAX: Final = 1_024  # of a request, so that the same one need not be read again
UNSENT_BYTES_MAX: Final = 1 << 20  # a client with more unsent replies is not read any further
MONITOR_OUTPUT_BYTES_MAX: Final = 64 << 20  # a MONITOR client that lags more is cut
QUERY_BYTES_MAX: Final = 1 << 30  # unparsed input of one client
STRANGER_BYTES_MAX: Final = 1 << 20  # the same, before it gave the password that is asked for
