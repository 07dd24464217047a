r"""How replies look: for a person, for a shell pipe, as CSV, as JSON.

`standard`  types are visible: `(integer) 3`, `"text"`, `(nil)`, numbered and indented arrays.
`raw`       payloads alone, byte for byte; arrays are flattened and joined with a delimiter.
`csv`       one line per reply, strings quoted as in standard, `NIL`, `ERROR,"text"`.
`json`      one JSON value per line, an error is `{"error": "..."}`.

JSON has no byte strings. Bytes that are UTF-8 become text; any other byte becomes the lone
surrogate `\udc80` ... `\udcff`, which valid text never contains. So nothing is lost: in Python
`json.loads(line).encode("utf-8", "surrogateescape")` gives the bytes back. Replies that list
fields and values one after the other (SHOW, QSTAT, CONFIG GET, JSCAN REPLY all) become objects,
and so do jobs (GETJOB, QPEEK).

Texts made for reading (INFO, CLUSTER NODES, ...) are printed as they are, except as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, TypeAlias

from disque.cli.replies import ErrorReply, Reply, SimpleString
from disque.wire.words import quote

__all__ = ["CSV", "JSON", "RAW", "STANDARD", "Json", "as_json", "render"]

STANDARD: Final = "standard"
RAW: Final = "raw"
CSV: Final = "csv"
JSON: Final = "json"

Json: TypeAlias = "str | int | float | list[Json] | dict[str, Json] | None"

_VERBATIM: Final = frozenset(
    (
        (b"info",),
        (b"cluster", b"nodes"),
        (b"cluster", b"info"),
        (b"client", b"list"),
        (b"client", b"info"),
        (b"latency", b"graph"),
        (b"latency", b"doctor"),
    )
)

_JOB_FIELDS: Final = ("queue", "id", "body")


def render(
    reply: Reply, argv: Sequence[bytes], style: str = STANDARD, delimiter: bytes = b"\n"
) -> bytes:
    """Format the reply to a command, ready to be written."""
    if style == JSON:
        text = json.dumps(as_json(reply, argv), ensure_ascii=False)
        # Lone surrogates cannot be encoded; escaped, they are valid JSON.
        return text.encode("utf-8", "backslashreplace") + b"\n"
    if _is_verbatim(argv) and isinstance(reply, bytes):
        return reply if not reply or reply.endswith(b"\n") else reply + b"\n"
    if style == RAW:
        return _raw(reply, delimiter) + b"\n"
    if style == CSV:
        return _csv(reply) + b"\n"
    return _standard(reply, "")


def as_json(reply: Reply, argv: Sequence[bytes]) -> Json:
    """Turn the reply to a command into what JSON can say."""
    name = argv[0].lower() if argv else b""
    if not isinstance(reply, list):
        return _json(reply)
    if name in (b"show", b"qstat") or (name == b"config" and len(reply) % 2 == 0):
        return _fields(reply)
    if name in (b"getjob", b"qpeek"):
        return [_job(item) for item in reply]
    if name == b"jscan" and len(reply) == 2 and isinstance(reply[1], list):
        jobs: list[Json] = [
            _fields(item) if isinstance(item, list) else _json(item) for item in reply[1]
        ]
        return [_json(reply[0]), jobs]
    return _json(reply)


def _is_verbatim(argv: Sequence[bytes]) -> bool:
    words = tuple(word.lower() for word in argv[:2])
    return words in _VERBATIM or words[:1] in _VERBATIM


def _standard(reply: Reply, indent: str) -> bytes:
    if isinstance(reply, list):
        return _standard_array(reply, indent)
    if isinstance(reply, ErrorReply):
        return b"(error) " + reply + b"\n"
    if isinstance(reply, SimpleString):
        return reply + b"\n"
    if isinstance(reply, bytes):
        return quote(reply) + b"\n"
    if reply is None:
        return b"(nil)\n"
    kind = "double" if isinstance(reply, float) else "integer"
    return f"({kind}) {_number(reply)}\n".encode()


def _standard_array(items: list[Reply], indent: str) -> bytes:
    if not items:
        return b"(empty list or set)\n"
    width = len(str(len(items)))
    inner = indent + " " * (width + 2)
    lines = []
    for number, item in enumerate(items, 1):
        # The first line of a nested array continues the line of its index.
        prefix = indent if number > 1 else ""
        lines.append(f"{prefix}{number:>{width}}) ".encode() + _standard(item, inner))
    return b"".join(lines)


def _raw(reply: Reply, delimiter: bytes) -> bytes:
    if isinstance(reply, list):
        return delimiter.join(_raw(item, delimiter) for item in reply)
    if isinstance(reply, ErrorReply):
        return reply + b"\n"
    if isinstance(reply, bytes):
        return reply
    return b"" if reply is None else _number(reply).encode()


def _csv(reply: Reply) -> bytes:
    if isinstance(reply, list):
        return b",".join(_csv(item) for item in reply)
    if isinstance(reply, ErrorReply):
        return b"ERROR," + quote(reply)
    if isinstance(reply, bytes):
        return quote(reply)
    return b"NIL" if reply is None else _number(reply).encode()


def _json(reply: Reply) -> Json:
    if isinstance(reply, list):
        return [_json(item) for item in reply]
    if isinstance(reply, ErrorReply):
        return {"error": _text(reply)}
    return _text(reply) if isinstance(reply, bytes) else reply


def _fields(reply: list[Reply]) -> Json:
    """Pair up a flat list of names and values."""
    if len(reply) % 2 or not all(isinstance(name, bytes) for name in reply[::2]):
        return _json(reply)
    pairs = zip(reply[::2], reply[1::2], strict=True)
    return {_text(name): _json(value) for name, value in pairs if isinstance(name, bytes)}


def _job(item: Reply) -> Json:
    """Name the queue, the id and the body of a delivered job; counters follow as fields."""
    if not isinstance(item, list) or len(item) < len(_JOB_FIELDS):
        return _json(item)
    counters = _fields(item[3:])
    if not isinstance(counters, dict):
        return _json(item)
    named: dict[str, Json] = {
        name: _json(value) for name, value in zip(_JOB_FIELDS, item, strict=False)
    }
    return named | counters


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", "surrogateescape")


def _number(reply: float) -> str:
    # True and False are the booleans of RESP3.
    return str(int(reply)) if isinstance(reply, bool) else str(reply)
