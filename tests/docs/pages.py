"""Read a page of documentation and do what it says, the way a reader would.

A page is a list of fenced blocks. `sh` blocks are typed into a shell and `python` blocks into the
interactive interpreter, line by line; a `text` block shows what the block before it printed. A
block without one prints nothing. Other blocks are only read. One shell and one interpreter serve a
whole page, so that variables live from block to block.

The page speaks of port 7711, the server under test has another one: the number is replaced in the
blocks, and `disque` without `-p` connects to it as well.
"""

from __future__ import annotations

import code
import contextlib
import io
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from tests.support.server import ServerProcess

__all__ = [
    "ROOT",
    "Block",
    "Reader",
    "markdown_files",
    "normalised",
    "outside_fences",
    "read_blocks",
]

ROOT: Final = Path(__file__).parents[2]
PORT: Final = "7711"
FENCE: Final = "```"
HAS_REDIS_CLI: Final = shutil.which("redis-cli") is not None

# Redis' client and ours print for people instead of programs when this variable is set.
FOR_PEOPLE: Final = "FAKETTY"

JOB_ID: Final = re.compile(r"D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}(?=-[0-9a-f]{4})")
VOLATILE: Final = (
    (re.compile(r"\b[0-9a-f]{40}\b"), "<node>"),
    (re.compile(r"^\d+:P \d\d \w{3} \d\d:\d\d:\d\d\.\d{3}", re.MULTILINE), "<process and time>"),
    (re.compile(r'("(?:ctime|ttl|next-requeue-within|next-awake-within)": )\d+'), r"\1<time>"),
)


class Block:
    """A fenced block; `printed` is what the page says comes out of it."""

    def __init__(self, language: str, line_number: int) -> None:
        self.language = language
        self.line_number = line_number
        self.lines: list[str] = []
        self.printed: list[str] = []

    @property
    def text(self) -> str:
        """The whole block."""
        return "\n".join(self.lines)


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that can be run, each with the output shown for it."""
    blocks: list[Block] = []
    block: Block | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith(FENCE):
            if block is not None:
                block.lines.append(line)
        elif block is None:
            block = Block(line.removeprefix(FENCE).strip(), number)
        else:
            if block.language == "text":
                assert blocks, f"{page.name}:{block.line_number}: output without a command"
                blocks[-1].printed = block.lines
            elif block.language in ("sh", "python"):
                blocks.append(block)
            block = None
    assert block is None, f"{page.name}: the last block has no end"
    return blocks


def normalised(text: str) -> str:
    """Replace what differs between any two runs, and only that.

    * The part of a job's id that is drawn at random becomes a number, counted by first appearance:
      where the page shows the same id twice, both must be the same. The end, which tells TTL and
      kind of delivery, stays.
    * Ids of nodes, and the process and time at the beginning of log lines.
    * Fields of SHOW that count milliseconds or seconds from or until now.
    """
    seen: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return seen.setdefault(match.group(), f"<job {len(seen) + 1}>")

    text = JOB_ID.sub(numbered, text)
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return text


class Reader:
    """Somebody who types the blocks of one page; use it as a context manager."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._console = code.InteractiveConsole()
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=_environment(),
            text=True,
            bufsize=1,
        )
        self._type_line(f'disque() {{ command disque -p {server.port} "$@"; }}')
        if not HAS_REDIS_CLI:
            self._type_line('redis-cli() { command disque "$@"; }')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.close()
        self._shell.stdout.close()
        self._shell.wait()

    def run(self, block: Block) -> str:
        """Do what a block says; return what it printed."""
        if block.lines == ["make run"]:
            # The server runs already; its log is what this prints.
            return self._ready_line()
        lines = [line.replace(PORT, str(self._server.port)) for line in block.lines]
        if block.language == "python":
            printed = self._type_python(lines)
        else:
            printed = "".join(self._type_line(line) for line in lines)
        return printed.replace(str(self._server.port), PORT)

    def _ready_line(self) -> str:
        lines = self._server.log.replace(str(self._server.port), PORT).splitlines(keepends=True)
        return next(line for line in lines if "ready to accept" in line)

    def _type_line(self, line: str) -> str:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        end = f"end of output {secrets.token_hex(8)}"
        # The braces keep a command from reading the next lines as its input.
        self._shell.stdin.write(f"{{ {line}\n}} </dev/null\nprintf '%s\\n' '{end}'\n")
        self._shell.stdin.flush()
        printed = ""
        while not printed.endswith(f"{end}\n"):
            part = self._shell.stdout.readline()
            assert part, f"the shell ended at {line!r}: {printed}"
            printed += part
        return printed.removesuffix(f"{end}\n")

    def _type_python(self, lines: list[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            # The empty line at the end closes a block of code, as it does for a reader.
            for line in (*lines, ""):
                self._console.push(line)
        return printed.getvalue()


def markdown_files() -> list[Path]:
    """Return every page there is."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def outside_fences(page: Path) -> Iterator[str]:
    """Yield the lines of a page that are prose."""
    is_inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(FENCE):
            is_inside = not is_inside
        elif not is_inside and not line.startswith("    "):
            yield line


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("DISQUECLI_AUTH", None)
    environment[FOR_PEOPLE] = "1"
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return environment
