"""How the text of a directive becomes a setting, and a setting becomes text.

A `Directive` has a name, an access (may it change at run time?) and a kind. The kind reads words
into `Settings` and writes them back in two forms:

    words --read--> Settings --shown----> CONFIG GET       maxmemory 1073741824
                             --written--> CONFIG REWRITE   maxmemory 1gb

A kind validates everything before it stores anything, so a refused directive changes nothing.
Numbers are strict: digits with an optional sign, nothing before and nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from disque.model.settings import Settings, SettingsError

__all__ = [
    "APPLIED",
    "AT_LEAST_ONE",
    "BAD_DIRECTIVE",
    "FIXED",
    "RUN_TIME_ONLY",
    "SETTABLE",
    "Addresses",
    "Directive",
    "KeepAlive",
    "Kind",
    "Memory",
    "Number",
    "Octal",
    "OutputLimits",
    "Password",
    "Renames",
    "Text",
    "Word",
    "YesNo",
    "bytes_of",
    "integer",
    "memory_size",
    "memory_text",
    "resolved",
    "text_of",
]

# When a directive may be given.
FIXED: Final = 0  # in the file and on the command line only
SETTABLE: Final = 1  # also by CONFIG SET, which is a matter of memory alone
APPLIED: Final = 2  # also by CONFIG SET, but the world has to follow before it counts
RUN_TIME_ONLY: Final = 3  # by CONFIG SET only

# In place of a number of words.
AT_LEAST_ONE: Final = -1

BAD_DIRECTIVE: Final = "Bad directive or wrong number of arguments"
NOT_YES_OR_NO: Final = "argument must be 'yes' or 'no'"

INTEGER_MAX: Final = 2**63 - 1
INTEGER_MIN: Final = -(2**63)
# More digits than any 64-bit number has.
DIGITS_MAX: Final = 19

PASSWORD_BYTES_MAX: Final = 512
BIND_ADDRESSES_MAX: Final = 16
PERMISSIONS_MAX: Final = 0o777
# What `tcp-keepalive yes` means: five minutes, which is less than firewalls forget after.
KEEPALIVE_SECONDS: Final = 300
# The kernel refuses more, for each connection anew.
KEEPALIVE_SECONDS_MAX: Final = 32_767
SECONDS_MAX: Final = 2**31 - 1

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
# Longer suffixes first, because `b` ends all of them.
UNITS: Final = (
    (b"kb", KIB),
    (b"mb", MIB),
    (b"gb", GIB),
    (b"k", 1000),
    (b"m", 1000**2),
    (b"g", 1000**3),
    (b"b", 1),
)


@final
class Number:
    """An integer. `run_time_minimum` binds CONFIG SET alone, where the file is more generous."""

    __slots__ = ("get", "maximum", "minimum", "problem", "put", "run_time_minimum")

    def __init__(
        self,
        get: Callable[[Settings], int],
        put: Callable[[Settings, int], None],
        minimum: int,
        maximum: int,
        problem: str,
        run_time_minimum: int = INTEGER_MIN,
    ) -> None:
        self.get = get
        self.put = put
        self.minimum = minimum
        self.maximum = maximum
        self.problem = problem
        self.run_time_minimum = run_time_minimum

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the number."""
        value = integer(words[0])
        if value is None or not self.minimum <= value <= self.maximum:
            raise SettingsError(self.problem)
        self.put(settings, value)

    def change(self, settings: Settings, words: list[bytes]) -> None:
        """Store the number if it is good enough for CONFIG SET."""
        value = integer(words[0])
        if value is not None and value < self.run_time_minimum:
            raise SettingsError(self.problem)
        self.read(settings, words)

    def shown(self, settings: Settings) -> bytes:
        """Decimal digits."""
        return b"%d" % self.get(settings)

    def written(self, settings: Settings) -> list[bytes]:
        """Decimal digits."""
        return [b"%d" % self.get(settings)]


@final
class Memory:
    """A number of bytes, with an optional unit."""

    __slots__ = ("get", "minimum", "problem", "put")

    def __init__(
        self,
        get: Callable[[Settings], int],
        put: Callable[[Settings, int], None],
        minimum: int,
        problem: str,
    ) -> None:
        self.get = get
        self.put = put
        self.minimum = minimum
        self.problem = problem

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the number of bytes."""
        size = memory_size(words[0])
        if size is None or size < self.minimum:
            raise SettingsError(self.problem)
        self.put(settings, size)

    def shown(self, settings: Settings) -> bytes:
        """Plain bytes."""
        return b"%d" % self.get(settings)

    def written(self, settings: Settings) -> list[bytes]:
        """With the largest unit that divides it."""
        return [memory_text(self.get(settings))]


@final
class YesNo:
    """A switch."""

    __slots__ = ("get", "put")

    def __init__(
        self, get: Callable[[Settings], bool], put: Callable[[Settings, bool], None]
    ) -> None:
        self.get = get
        self.put = put

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store yes or no, in any case."""
        word = words[0].lower()
        if word not in (b"yes", b"no"):
            raise SettingsError(NOT_YES_OR_NO)
        self.put(settings, word == b"yes")

    def shown(self, settings: Settings) -> bytes:
        """Yes or no."""
        return b"yes" if self.get(settings) else b"no"

    def written(self, settings: Settings) -> list[bytes]:
        """Yes or no."""
        return [self.shown(settings)]


@final
class Word:
    """One of a few words, kept in lower case."""

    __slots__ = ("choices", "get", "problem", "put")

    def __init__(
        self,
        get: Callable[[Settings], str],
        put: Callable[[Settings, str], None],
        choices: tuple[str, ...],
        problem: str,
    ) -> None:
        self.get = get
        self.put = put
        self.choices = choices
        self.problem = problem

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the word if it is one of the choices, in any case."""
        word = text_of(words[0].lower())
        if word not in self.choices:
            raise SettingsError(self.problem)
        self.put(settings, word)

    def shown(self, settings: Settings) -> bytes:
        """The word."""
        return bytes_of(self.get(settings))

    def written(self, settings: Settings) -> list[bytes]:
        """The word."""
        return [self.shown(settings)]


@final
class Text:
    """A free string, mostly a path. `accepts` tells which ones are good."""

    __slots__ = ("accepts", "get", "is_optional", "problem", "put")

    def __init__(
        self,
        get: Callable[[Settings], str],
        put: Callable[[Settings, str], None],
        accepts: Callable[[str], bool],
        problem: str,
        is_optional: bool = False,
    ) -> None:
        self.get = get
        self.put = put
        self.accepts = accepts
        self.problem = problem
        # An empty value means that there is none, and needs no line in the file.
        self.is_optional = is_optional

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the string."""
        text = text_of(words[0])
        if not self.accepts(text):
            raise SettingsError(self.problem)
        self.put(settings, text)

    def shown(self, settings: Settings) -> bytes:
        """The string, byte for byte."""
        return bytes_of(self.get(settings))

    def written(self, settings: Settings) -> list[bytes]:
        """The string, or nothing if it is unset."""
        text = self.shown(settings)
        return [] if self.is_optional and not text else [text]


@final
class Password:
    """`requirepass`: any bytes; none at all means that nobody has to authenticate."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the password."""
        if len(words[0]) > PASSWORD_BYTES_MAX:
            raise SettingsError("Password is longer than CONFIG_AUTHPASS_MAX_LEN")
        settings.requirepass = words[0]

    def shown(self, settings: Settings) -> bytes:
        """The password in the clear: whoever may ask already knows it."""
        return settings.requirepass

    def written(self, settings: Settings) -> list[bytes]:
        """The password, or nothing."""
        return [settings.requirepass] if settings.requirepass else []


@final
class Octal:
    """`unixsocketperm`: the permissions of a file."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the permissions."""
        digits = words[0]
        if not digits or digits.strip(b"01234567") or int(digits, 8) > PERMISSIONS_MAX:
            raise SettingsError("Invalid socket file permissions")
        settings.unixsocketperm = int(digits, 8)

    def shown(self, settings: Settings) -> bytes:
        """Octal digits."""
        return b"%o" % settings.unixsocketperm

    def written(self, settings: Settings) -> list[bytes]:
        """Octal digits."""
        return [self.shown(settings)]


@final
class Addresses:
    """`bind`: the addresses to listen on; none means all."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the addresses; whether they can be bound is for the listener to find out."""
        if len(words) > BIND_ADDRESSES_MAX:
            raise SettingsError("Too many bind addresses specified")
        if b"" in words:
            raise SettingsError("Invalid bind address")
        settings.bind = [text_of(word) for word in words]

    def shown(self, settings: Settings) -> bytes:
        """All of them, with blanks between."""
        return b" ".join(self.written(settings))

    def written(self, settings: Settings) -> list[bytes]:
        """All of them."""
        return [bytes_of(address) for address in settings.bind]


@final
class KeepAlive:
    """`tcp-keepalive`: seconds, shown as a switch because that is what clients always saw."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the seconds; `yes` keeps those that are set, `no` means 0."""
        word = words[0].lower()
        seconds: int | None
        if word == b"yes":
            seconds = settings.tcp_keepalive or KEEPALIVE_SECONDS
        elif word == b"no":
            seconds = 0
        else:
            seconds = integer(word)
        if seconds is None or not 0 <= seconds <= KEEPALIVE_SECONDS_MAX:
            raise SettingsError("Invalid tcp-keepalive value")
        settings.tcp_keepalive = seconds

    def shown(self, settings: Settings) -> bytes:
        """Yes or no."""
        return b"yes" if settings.tcp_keepalive else b"no"

    def written(self, settings: Settings) -> list[bytes]:
        """The seconds."""
        return [b"%d" % settings.tcp_keepalive]


@final
class OutputLimits:
    """`client-output-buffer-limit`: class, hard limit, soft limit, seconds above the soft one."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Store the limits; of several groups of four words the last one counts."""
        if not words or len(words) % 4:
            raise SettingsError(BAD_DIRECTIVE)
        limits = (0, 0, 0)
        for start in range(0, len(words), 4):
            if words[start].lower() != b"normal":
                raise SettingsError("Unrecognized client limit class")
            hard = memory_size(words[start + 1])
            soft = memory_size(words[start + 2])
            if hard is None or soft is None:
                raise SettingsError("Invalid client-output-buffer-limit value")
            seconds = integer(words[start + 3])
            if seconds is None or not 0 <= seconds <= SECONDS_MAX:
                raise SettingsError("Negative number of seconds in soft limit is invalid")
            limits = (hard, soft, seconds)
        settings.output_limit_hard = limits[0]
        settings.output_limit_soft = limits[1]
        settings.output_limit_soft_seconds = limits[2]

    def shown(self, settings: Settings) -> bytes:
        """The class and three plain numbers."""
        return b"normal %d %d %d" % (
            settings.output_limit_hard,
            settings.output_limit_soft,
            settings.output_limit_soft_seconds,
        )

    def written(self, settings: Settings) -> list[bytes]:
        """The same, with units."""
        return [
            b"normal",
            memory_text(settings.output_limit_hard),
            memory_text(settings.output_limit_soft),
            b"%d" % settings.output_limit_soft_seconds,
        ]


@final
class Renames:
    """`rename-command`: every line adds a pair, so none overrides another."""

    __slots__ = ()

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Add the old and the new name; whoever knows the commands has checked them."""
        settings.rename_command.append((words[0], words[1]))

    def shown(self, settings: Settings) -> bytes:
        """Never asked for: the new names may be secrets."""
        return b""

    def written(self, settings: Settings) -> list[bytes]:
        """Never asked for: the lines in the file stay as they are."""
        return []


Kind = (
    Number
    | Memory
    | YesNo
    | Word
    | Text
    | Password
    | Octal
    | Addresses
    | KeepAlive
    | OutputLimits
    | Renames
)


@final
class Directive:
    """A line of the configuration file: its name, when it may be given, and what it takes."""

    __slots__ = ("access", "is_quoted", "kind", "name", "words_count")

    def __init__(self, name: str, access: int, kind: Kind) -> None:
        self.name = name
        self.access = access
        self.kind = kind
        self.words_count = _words_count(kind)
        # Free strings need quotes in the file, whatever they contain.
        self.is_quoted = isinstance(kind, Text | Password)

    def read(self, settings: Settings, words: list[bytes]) -> None:
        """Take the words behind the name as the file gives them, or raise SettingsError."""
        if self.access == RUN_TIME_ONLY:
            raise SettingsError(BAD_DIRECTIVE)
        if self.words_count == AT_LEAST_ONE:
            if not words:
                raise SettingsError(BAD_DIRECTIVE)
        elif len(words) != self.words_count:
            raise SettingsError(BAD_DIRECTIVE)
        self.kind.read(settings, words)

    def change(self, settings: Settings, value: bytes) -> None:
        """Take one string as CONFIG SET gives it, or raise SettingsError."""
        assert self.is_settable(), "the caller refuses what is fixed"
        kind = self.kind
        if isinstance(kind, Number):
            kind.change(settings, [value])
        elif isinstance(kind, OutputLimits):
            kind.read(settings, value.split())
        else:
            kind.read(settings, [value])

    def is_settable(self) -> bool:
        """Tell whether CONFIG SET may change it."""
        return self.access != FIXED

    def shown(self, settings: Settings) -> bytes:
        """Write the value as CONFIG GET shows it."""
        return self.kind.shown(settings)

    def written(self, settings: Settings) -> list[bytes]:
        """Write the words behind the name for the file, unquoted; none means that it is unset."""
        return self.kind.written(settings)


def integer(raw: bytes) -> int | None:
    """Read a signed 64-bit number in base 10, or answer None.

    >>> integer(b"-12"), integer(b"12 "), integer(b"")
    (-12, None, None)
    """
    digits = raw[1:] if raw[:1] in (b"+", b"-") else raw
    if not digits.isdigit() or len(digits.lstrip(b"0")) > DIGITS_MAX:
        return None
    value = int(digits.lstrip(b"0") or b"0")
    if raw[:1] == b"-":
        value = -value
    return value if INTEGER_MIN <= value <= INTEGER_MAX else None


def memory_size(raw: bytes) -> int | None:
    """Read a number of bytes: `k m g` count in thousands, `kb mb gb` in steps of 1024.

    >>> memory_size(b"1GB"), memory_size(b"1k"), memory_size(b"1x")
    (1073741824, 1000, None)
    """
    digits = raw.lower()
    factor = 1
    for suffix, unit in UNITS:
        if digits.endswith(suffix):
            digits = digits[: -len(suffix)]
            factor = unit
            break
    if not digits.isdigit():
        return None
    count = integer(digits)
    if count is None or count * factor > INTEGER_MAX:
        return None
    return count * factor


def memory_text(size: int) -> bytes:
    """Write a number of bytes with the largest unit that divides it.

    >>> memory_text(64 * 1024 * 1024), memory_text(1000), memory_text(0)
    (b'64mb', b'1000', b'0')
    """
    if size > 0:
        for suffix, unit in ((b"gb", GIB), (b"mb", MIB), (b"kb", KIB)):
            if size % unit == 0:
                return b"%d%b" % (size // unit, suffix)
    return b"%d" % size


def resolved(base: str, path: str) -> str:
    """Write `path`, seen from the directory `base`, without `.`, `..` and doubled slashes.

    >>> resolved("/var/lib", "../spool/./disque")
    '/var/spool/disque'
    >>> resolved(".", ".")
    '.'
    """
    whole = path if path.startswith("/") else f"{base}/{path}"
    parts: list[str] = []
    for part in whole.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".." or not whole.startswith("/"):
            parts.append(part)
    if whole.startswith("/"):
        return "/" + "/".join(parts)
    return "/".join(parts) or "."


def text_of(raw: bytes) -> str:
    """Decode what an operator wrote; `bytes_of` gives exactly the same bytes back."""
    return raw.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Encode what `text_of` decoded."""
    return text.encode("utf-8", "surrogateescape")


def _words_count(kind: Kind) -> int:
    if isinstance(kind, Addresses):
        return AT_LEAST_ONE
    if isinstance(kind, OutputLimits):
        return 4
    if isinstance(kind, Renames):
        return 2
    return 1
