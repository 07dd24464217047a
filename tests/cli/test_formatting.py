"""Every shape of reply in every style."""

import json

import pytest
from hypothesis import given, strategies as st

from disque.cli.formatting import CSV, JSON, RAW, STANDARD, Json, render
from disque.cli.replies import ErrorReply, Reply, SimpleString

OK = SimpleString(b"OK")
ERROR = ErrorReply(b"ERR no")
NESTED: Reply = [b"q", [1, None, []], OK]

SHAPES: list[tuple[Reply, bytes, bytes, bytes, bytes]] = [
    (OK, b"OK\n", b"OK\n", b'"OK"\n', b'"OK"\n'),
    (ERROR, b"(error) ERR no\n", b"ERR no\n\n", b'ERROR,"ERR no"\n', b'{"error": "ERR no"}\n'),
    (b'a"\n\xff', b'"a\\"\\n\\xff"\n', b'a"\n\xff\n', b'"a\\"\\n\\xff"\n', b'"a\\"\\n\\udcff"\n'),
    (b"", b'""\n', b"\n", b'""\n', b'""\n'),
    (-7, b"(integer) -7\n", b"-7\n", b"-7\n", b"-7\n"),
    (None, b"(nil)\n", b"\n", b"NIL\n", b"null\n"),
    ([], b"(empty list or set)\n", b"\n", b"\n", b"[]\n"),
    ([b"a", 1], b'1) "a"\n2) (integer) 1\n', b"a\n1\n", b'"a",1\n', b'["a", 1]\n'),
    (1.5, b"(double) 1.5\n", b"1.5\n", b"1.5\n", b"1.5\n"),
    (True, b"(integer) 1\n", b"1\n", b"1\n", b"true\n"),
    (
        NESTED,
        b'1) "q"\n2) 1) (integer) 1\n   2) (nil)\n   3) (empty list or set)\n3) OK\n',
        b"q\n1\n\n\nOK\n",
        b'"q",1,NIL,,"OK"\n',
        b'["q", [1, null, []], "OK"]\n',
    ),
]


@pytest.mark.parametrize(("reply", "standard", "raw", "csv", "as_json"), SHAPES)
def test_every_shape_in_every_style(
    reply: Reply, standard: bytes, raw: bytes, csv: bytes, as_json: bytes
) -> None:
    assert render(reply, [b"x"], STANDARD) == standard
    assert render(reply, [b"x"], RAW) == raw
    assert render(reply, [b"x"], CSV) == csv
    assert render(reply, [b"x"], JSON) == as_json


def test_indexes_are_aligned() -> None:
    lines = render([0] * 10, [b"x"]).split(b"\n")

    assert lines[0] == b" 1) (integer) 0"
    assert lines[9] == b"10) (integer) 0"


def test_raw_arrays_are_joined_with_the_delimiter() -> None:
    assert render([b"a", [b"b", 1]], [b"x"], RAW, b", ") == b"a, b, 1\n"


@pytest.mark.parametrize(
    "command", ["INFO", "info all", "Cluster Nodes", "CLUSTER INFO", "CLIENT LIST", "LATENCY GRAPH"]
)
@pytest.mark.parametrize("style", [STANDARD, RAW, CSV])
def test_texts_made_for_reading_are_printed_as_they_are(command: str, style: str) -> None:
    argv = command.encode().split()

    assert render(b"a:1\r\nb:2\r\n", argv, style) == b"a:1\r\nb:2\r\n"
    assert render(b"", argv, style) == b""


def test_an_error_to_a_text_command_ends_its_line() -> None:
    assert render(ErrorReply(b"ERR syntax error"), [b"INFO"]) == b"ERR syntax error\n"


def test_a_text_is_a_string_in_json() -> None:
    assert render(b"a:1\r\n", [b"info"], JSON) == b'"a:1\\r\\n"\n'


def as_value(reply: Reply, *argv: bytes) -> Json:
    value: Json = json.loads(render(reply, argv, JSON))
    return value


def test_fields_and_values_are_a_json_object() -> None:
    shown: Reply = [b"id", b"D-1", b"queue", None, b"nodes-delivered", [b"n"], b"ttl", 5]
    expected: Json = {"id": "D-1", "queue": None, "nodes-delivered": ["n"], "ttl": 5}

    assert as_value(shown, b"SHOW", b"D-1") == expected
    assert as_value([b"0", [shown]], b"JSCAN", b"REPLY", b"all") == ["0", [expected]]
    assert as_value([b"name", b"q"], b"qstat", b"q") == {"name": "q"}
    assert as_value([b"port", b"7711"], b"config", b"get", b"port") == {"port": "7711"}


def test_jobs_are_json_objects_with_or_without_counters() -> None:
    plain: Reply = [[b"q", b"D-1", b"body"]]
    counted: Reply = [[b"q", b"D-1", b"body", b"nacks", 1, b"additional-deliveries", 2]]
    job: dict[str, Json] = {"queue": "q", "id": "D-1", "body": "body"}

    assert as_value(plain, b"GETJOB", b"FROM", b"q") == [job]
    assert as_value(plain, b"QPEEK", b"q", b"1") == [job]
    assert as_value(counted, b"getjob", b"WITHCOUNTERS", b"FROM", b"q") == [
        job | {"nacks": 1, "additional-deliveries": 2}
    ]


def test_a_nil_or_odd_reply_is_left_as_it_is_in_json() -> None:
    assert as_value(None, b"SHOW", b"D-1") is None
    assert as_value(None, b"GETJOB", b"FROM", b"q") is None
    assert as_value([b"odd"], b"SHOW", b"D-1") == ["odd"]
    assert as_value([1], b"GETJOB", b"FROM", b"q") == [1]
    assert as_value([b"0", [SimpleString(b"D-1")]], b"JSCAN") == ["0", ["D-1"]]


@given(st.binary())
def test_json_loses_no_byte(body: bytes) -> None:
    value = json.loads(render(body, [b"x"], JSON))

    assert value.encode("utf-8", "surrogateescape") == body
