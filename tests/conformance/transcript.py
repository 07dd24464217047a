"""Read transcripts.md and replay one of its sections against running servers.

The format is described at the top of transcripts.md. A mismatch is noted and the replay goes on,
because the next reply is still the answer to the next request. Only a desync (no reply, or the
connection ended) stops a section: from there on every comparison would be noise.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from disque.model.override import override
from tests.support.resp import Desync, Wire

__all__ = ["Difference", "Mismatch", "Replay", "Section", "Step", "parse_sections", "read_sections"]

PATH: Final = Path(__file__).with_name("transcripts.md")

HEADING: Final = re.compile(r"## (S\d+) (.+)")
EXCHANGE: Final = re.compile(r"([A-C]\d*)(>>|>|<BULK|<EOF|<NONE|<)(?: (.*))?")
REPEATED: Final = re.compile(r'(".*")(?: \* (\d+))?')
TOKEN: Final = re.compile(
    r"\{(?P<job>J\d+)(?:\|(?P<tail>[0-9a-f]{4}))?\}|\{(?P<node>N\d+)\}|\{(?P<any_node>N\?)\}"
    r"|\{INT(?: (?P<low>\d+)\.\.(?P<high>\d+))?\}|\{(?P<ctime>CT)\}|\{(?P<address>ADDR)\}"
    r"|\{PORT(?P<port>[1-3])\}"
)
NAME: Final = re.compile(r"\{(J\d+|N\d+|PORT[1-3])\}")

JOB: Final = r"D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}"
NODE: Final = r"[0-9a-f]{40}"


@dataclass(frozen=True)
class Step:
    """One line of a transcript: `connection` is empty for the directives that start with `!`."""

    line_number: int
    text: str
    connection: str
    action: str
    operand: str


@dataclass(frozen=True)
class Section:
    """One `## Sn` section."""

    id: str
    title: str
    servers: str
    steps: Sequence[Step]

    @property
    def arguments(self) -> list[str]:
        """What the servers of this section want on their command line."""
        return self.servers.split()[1:]

    @property
    def is_cluster(self) -> bool:
        """Whether it needs several servers that know each other."""
        return self.servers.startswith("cluster")

    @property
    def is_bug_compatible(self) -> bool:
        """Whether it shows a bug of the original that we keep on request."""
        return self.title.startswith("[bug-compatible]")


@dataclass(frozen=True)
class Difference:
    """A reply that is meant to differ from the original's, and what we answer instead.

    `request` and `original` are lines of the transcript, to the letter; `reply` is a pattern as
    in the transcript.
    """

    section: str
    request: str
    original: str
    reply: str
    reason: str


@dataclass(frozen=True)
class Mismatch:
    """A reply that is not what the transcript says."""

    line_number: int
    request: str
    expected: str
    received: str

    @override
    def __str__(self) -> str:
        return (
            f"transcripts.md:{self.line_number}\n  request  {self.request}\n"
            f"  expected {self.expected}\n  received {self.received}"
        )


def read_sections() -> list[Section]:
    """Return every section of transcripts.md."""
    return parse_sections(PATH.read_text(encoding="utf-8"))


def parse_sections(text: str) -> list[Section]:
    """Return the sections of a document in the format of transcripts.md."""
    sections: list[Section] = []
    steps: list[Step] = []
    id, title, servers, is_inside = "", "", "single", False
    for number, line in enumerate(text.split("\n"), start=1):
        if heading := HEADING.fullmatch(line):
            id, title, servers, steps = heading[1], heading[2], "single", []
        elif line == "```transcript" and id:
            is_inside = True
        elif line == "```" and is_inside:
            is_inside = False
            sections.append(Section(id, title, servers, steps))
        elif is_inside and line.startswith("%server "):
            servers = line.removeprefix("%server ")
        elif is_inside and line and not line.startswith("#"):
            steps.append(parse_step(number, line))
    return sections


def parse_step(line_number: int, line: str) -> Step:
    """Read one line between the fences."""
    if line.startswith("!"):
        action, _, operand = line.partition(" ")
        return Step(line_number, line, "", action, operand)
    match = EXCHANGE.fullmatch(line)
    assert match is not None, f"line {line_number} is not understood: {line}"
    return Step(line_number, line, match[1], match[2], match[3] or "")


@dataclass
class Replay:
    """The state of replaying one section: open connections and what was captured so far.

    `ports` are the client ports of nodes 1, 2, 3.
    """

    ports: Sequence[int]
    differences: Sequence[Difference] = ()
    mismatches: list[Mismatch] = field(default_factory=list)
    used: set[Difference] = field(default_factory=set)
    checks: int = 0
    captured: dict[str, str] = field(default_factory=dict)
    wires: dict[str, Wire] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)

    def run(self, section: Section) -> None:
        """Replay the section, collecting mismatches; close every connection at the end."""
        self.captured.update({f"PORT{n}": str(port) for n, port in enumerate(self.ports, 1)})
        try:
            for step in section.steps:
                try:
                    self._perform(step, section.id)
                except (Desync, OSError) as error:
                    self._mismatch(step, f"{error} (section abandoned here)")
                    return
        finally:
            for wire in self.wires.values():
                wire.close()

    def _perform(self, step: Step, section_id: str) -> None:
        if step.action == "!sleep":
            time.sleep(float(step.operand))
        elif step.action == "!close":
            self.wires.pop(step.operand).close()
        elif step.connection == "":
            raise AssertionError(f"unknown directive {step.text}")
        elif step.action == ">":
            self.requests[step.connection] = step.text
            self._wire(step).send(*(self._substitute(a) for a in json.loads(step.operand)))
        elif step.action == ">>":
            self.requests[step.connection] = step.text
            self._wire(step).send_raw(raw_request(step.operand))
        else:
            self.checks += 1
            self._check(step, section_id)

    def _check(self, step: Step, section_id: str) -> None:
        wire = self._wire(step)
        if step.action == "<EOF":
            wire.read_eof()
        elif step.action == "<NONE":
            try:
                wire.assert_silent(int(step.operand))
            except Desync:
                raise
            except AssertionError as error:
                self._mismatch(step, str(error))
        elif step.action == "<BULK":
            self._check_bulk(step, wire.read_reply())
        else:
            pattern = self._expected(step, section_id)
            received = wire.read_reply()
            if (found := match_reply(pattern, received, self.captured)) is None:
                self._mismatch(step, repr(received))
            else:
                self.captured.update(found)

    def _check_bulk(self, step: Step, received: bytes) -> None:
        head, _, payload = received.partition(b"\r\n")
        pattern = re.compile(json.loads(step.operand).encode("latin-1"), re.DOTALL)
        if not head.startswith(b"$") or not pattern.fullmatch(payload.removesuffix(b"\r\n")):
            self._mismatch(step, repr(received))

    def _expected(self, step: Step, section_id: str) -> str:
        """Return the pattern for this reply: the transcript's, or that of a known difference."""
        for difference in self.differences:
            if (
                difference.section == section_id
                and difference.original == step.text
                and difference.request == self.requests.get(step.connection)
            ):
                self.used.add(difference)
                return difference.reply
        pattern: str = json.loads(step.operand)
        return pattern

    def _mismatch(self, step: Step, received: str) -> None:
        request = self.requests.get(step.connection, "(none)")
        self.mismatches.append(Mismatch(step.line_number, request, step.text, received))

    def _wire(self, step: Step) -> Wire:
        if step.connection not in self.wires:
            node = ord(step.connection[0]) - ord("A")
            self.wires[step.connection] = Wire(self.ports[node])
        return self.wires[step.connection]

    def _substitute(self, argument: str) -> bytes:
        def captured(token: re.Match[str]) -> str:
            if token[1] not in self.captured:
                raise Desync(f"{token[0]} was never received")
            return self.captured[token[1]]

        return NAME.sub(captured, argument).encode("latin-1")


def raw_request(operand: str) -> bytes:
    """Return the bytes of `"json string"` or `"json string" * n`."""
    match = REPEATED.fullmatch(operand)
    assert match is not None, operand
    text: str = json.loads(match[1])
    return text.encode("latin-1") * int(match[2] or 1)


def match_reply(
    pattern: str, received: bytes, captured: Mapping[str, str]
) -> dict[str, str] | None:
    """Return what the pattern captures in the reply, or None if it does not match."""
    expression, bounds = compile_pattern(pattern, captured)
    match = re.fullmatch(expression, received.decode("latin-1"), re.DOTALL)
    if match is None:
        return None
    for group, (low, high) in bounds.items():
        if not low <= int(match[group]) <= high:
            return None
    return {name: text for name, text in match.groupdict().items() if name not in bounds}


def compile_pattern(
    pattern: str, captured: Mapping[str, str]
) -> tuple[str, dict[str, tuple[int, int]]]:
    """Translate tokens into a regular expression, and name the groups with a range."""
    parts: list[str] = []
    bounds: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    position = 0
    for token in TOKEN.finditer(pattern):
        parts.append(re.escape(pattern[position : token.start()]))
        position = token.end()
        name = token["job"] or token["node"]
        if name:
            tail = f"(?<={token['tail']})" if token["tail"] else ""
            parts.append(_name_pattern(name, captured, seen) + tail)
        elif token["any_node"]:
            parts.append(NODE)
        elif token["ctime"]:
            parts.append(r"\d{19}")
        elif token["address"]:
            parts.append(r"127\.0\.0\.1:\d+")
        elif token["port"]:
            parts.append(re.escape(captured[f"PORT{token['port']}"]))
        elif token["low"]:
            group = f"range{len(bounds)}"
            bounds[group] = (int(token["low"]), int(token["high"]))
            parts.append(rf"(?P<{group}>\d+)")
        else:
            parts.append(r"-?\d+")
    parts.append(re.escape(pattern[position:]))
    return "".join(parts), bounds


def _name_pattern(name: str, captured: Mapping[str, str], seen: set[str]) -> str:
    """Match a job or node id: a known one to the letter, a new one by its form."""
    if name in captured:
        return re.escape(captured[name])
    if name in seen:
        return f"(?P={name})"
    seen.add(name)
    return f"(?P<{name}>{JOB if name.startswith('J') else NODE})"
