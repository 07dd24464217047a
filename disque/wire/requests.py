r"""Requests: what a client sends, from bytes to argument lists.

A request is a multibulk (`*2\r\n$4\r\nQLEN\r\n$1\r\nq\r\n`) or an inline line (`QLEN q\n`); its
first byte tells which. The parser is fed whatever arrives and gives back the requests that are
complete, in order. The outcome depends on the bytes alone, never on how they were cut into chunks.

Theory of operation
===================

    data --> finish the request begun in an earlier chunk     strict, stateful
         --> canonical requests, as many as there are         one split of the chunk
         --> whatever is left                                 strict, stateful

The strict reader walks over bytes and numbers and knows every rule. Compiled it is the fastest way
to read a request. The interpreter prefers to split a chunk at every CRLF, at C speed, and to check
that each length header is literally the one that belongs to the piece behind it: then the strict
reader would have read the same. Clients repeat themselves: a short request that comes again
(GETJOB), or one that differs in one argument (ADDJOB, ACKJOB), is not even split, because the same
bytes mean the same arguments. At the first doubt (a CRLF inside a body, a request that is not
complete, an error) it steps back to the start of that request, and the rest of the chunk is read
strictly. So a chunk is split at most once, and the work is linear.

Between chunks the parser keeps the arguments already complete and the rest of what is not: a line
without its end, or a body in progress, which grows in place and only by what really arrived. An
announced length reserves nothing.
"""

from __future__ import annotations

import re
from typing import Final, final

from disque.wire import similar, words
from disque.wire.encode import encode_request

__all__ = [
    "ARGUMENTS_MAX",
    "ARGUMENT_BYTES_MAX",
    "LINE_BYTES_MAX",
    "RequestParser",
]

# An inline request, or the line of a count or a length, may have this many bytes before its end.
LINE_BYTES_MAX: Final = 65_536
ARGUMENTS_MAX: Final = 1_048_576
ARGUMENT_BYTES_MAX: Final = 536_870_912
# The smallest count a signed 64-bit integer holds; nobody means less than that.
COUNT_MIN: Final = -(2**63)
# What a `bytes` object and its place in a list cost on top of the payload.
ARGUMENT_OVERHEAD_BYTES: Final = 48

# Searching a body for CRLF costs about a nanosecond per byte: above this mean size of a request
# that is more than the strict reader needs, so it takes over, as it does for large chunks.
SMALL_REQUEST_BYTES: Final = 2_048
SPLIT_BYTES_MAX: Final = 262_144
# Arguments beyond these bounds are rare, and the strict reader takes them.
CANONICAL_ARGUMENTS_MAX: Final = 64
CANONICAL_BYTES_MAX: Final = 2_048
# How many pieces of a split chunk a request takes, by its first piece.
PIECES: Final = {b"*%d" % count: 2 * count + 1 for count in range(1, CANONICAL_ARGUMENTS_MAX + 1)}
# The only length header that belongs to an argument, by the argument's length.
HEADERS: Final = [b"$%d" % length for length in range(CANONICAL_BYTES_MAX + 1)]
# A consumer sends the same GETJOB again and again: requests up to this size are recognised.
REPEATED_BYTES_MAX: Final = 64
# A chunk up to this size that holds a single request is compared with the one before.
SINGLE_BYTES_MAX: Final = 512
# Requests of no arguments: nothing happens, so a flood of them must not cost more than its bytes.
NOTHING: Final = re.compile(rb"(?:[ \t\r]*+\n|\*(?:0|-[1-9][0-9]{0,17})\r\n)*+")
IS_INTERPRETED: Final = __file__.endswith((".py", ".pyc"))

ASTERISK: Final = 0x2A
DOLLAR: Final = 0x24
CR: Final = 0x0D
LF: Final = 0x0A
ZERO: Final = 0x30
# No length line has been read yet for the argument that comes next.
UNKNOWN: Final = -1
# Behind the end of any chunk, so that nobody reads on.
NOTHING_LEFT: Final = 2**62 - 1

TOO_BIG_INLINE: Final = b"too big inline request"
UNBALANCED_QUOTES: Final = b"unbalanced quotes in request"
TOO_BIG_COUNT: Final = b"too big mbulk count string"
INVALID_COUNT: Final = b"invalid multibulk length"
TOO_BIG_LENGTH: Final = b"too big bulk count string"
INVALID_LENGTH: Final = b"invalid bulk length"
EXPECTED_LENGTH: Final = b"expected '$', got '%b'"


@final
class RequestParser:
    """Turns the bytes of one connection into requests.

    After a protocol error `error` holds the sentence for the client, and input is ignored.
    """

    __slots__ = (
        "_arguments",
        "_arguments_bytes",
        "_can_split",
        "_is_splitting",
        "_length",
        "_missing",
        "_repeated",
        "_repeated_raw",
        "_rest",
        "_similar",
        "_single",
        "error",
    )

    def __init__(self, *, strict_only: bool = not IS_INTERPRETED) -> None:
        self.error: bytes | None = None
        # Whether splitting may pay at all, and whether it will for the next chunk.
        self._can_split: bool = not strict_only
        self._is_splitting: bool = self._can_split
        # The request in progress: its complete arguments, how many are missing (0: there is no
        # multibulk in progress), and the length of the next one if its line has been read.
        self._arguments: list[bytes] = []
        self._arguments_bytes: int = 0
        self._missing: int = 0
        self._length: int = UNKNOWN
        # The beginning of the next argument if `_length` is known, else of a line.
        self._rest: bytearray = bytearray()
        # A request this client sent several times in a row, as arguments and as bytes.
        self._repeated: list[bytes] = []
        self._repeated_raw: bytes = b""
        # Requests this client sent that differ in one argument.
        self._similar: similar.Similar | None = None
        # The last chunk that was one request, to be compared with the next.
        self._single: list[bytes] = []

    @property
    def buffered_bytes(self) -> int:
        """Tell the memory held for a request that is not complete."""
        return (
            len(self._rest) + self._arguments_bytes + len(self._arguments) * ARGUMENT_OVERHEAD_BYTES
        )

    def feed(self, data: bytes) -> list[list[bytes]]:
        """Take the next bytes, and answer every request that is complete now.

        Requests of no arguments are left out. Those before a protocol error are not.
        """
        requests: list[list[bytes]] = []
        position = 0
        if self._missing > 0 or self._rest or self.error is not None:
            data, position = self._continue(data, requests)
        elif self._repeated and data == self._repeated_raw:
            # A client without a pipeline sends one request at a time.
            return [self._repeated]
        if self._repeated or self._similar is not None:
            position = self._read_known(data, position, requests)
        size = len(data)
        if self._is_splitting and position < size:
            position = self._split(data, position, requests)
        while position < size:
            position = self._read_request(data, position, requests)
        # Requests were small, so the next ones probably are.
        self._is_splitting = self._can_split and size <= len(requests) * SMALL_REQUEST_BYTES
        return requests

    def _continue(self, data: bytes, requests: list[list[bytes]]) -> tuple[bytes, int]:
        """Read what belongs to the request in progress; answer what to read on, and from where."""
        position = 0
        if self.error is not None:
            return b"", 0
        if self._length != UNKNOWN:
            position = self._continue_argument(data, requests)
        elif self._rest:
            data = self._continue_line(data)
        if self._missing > 0 and position < len(data):
            position = self._read_request(data, position, requests)
        return data, position

    def _split(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read canonical requests and learn from them; answer the position behind them."""
        known = len(requests)
        position = _read_canonical(data, position, requests)
        if len(requests) - known > 1:
            self._remember(requests[known], requests[known + 1])
        elif position == len(data) <= SINGLE_BYTES_MAX and len(requests) == 1:
            if self._single:
                self._remember(self._single, requests[0])
            self._single = requests[0]
        return position

    def _read_known(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read requests that are like those remembered, and answer the position behind them."""
        if self._repeated:
            raw = self._repeated_raw
            while data.startswith(raw, position):
                # Byte by byte the same, so they share the arguments.
                requests.append(self._repeated)
                position += len(raw)
        if self._similar is not None:
            position = self._similar.read(data, position, requests)
        return position

    def _remember(self, first: list[bytes], second: list[bytes]) -> None:
        """Remember what two requests have in common: more of them will probably come."""
        if first == second and sum([len(argument) for argument in first]) <= REPEATED_BYTES_MAX:
            self._repeated = first
            self._repeated_raw = encode_request(first)
            return
        found = similar.find(first, second)
        if found is not None:
            self._similar = found

    def _read_request(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read one request, or what there is of it, and answer the position behind it."""
        if self._missing > 0:
            return self._read_arguments(data, position, self._missing, self._arguments, requests)
        if data[position] != ASTERISK:
            return self._read_inline(data, position, requests)
        count, behind = _read_number(data, position + 1)
        if 0 < count <= ARGUMENTS_MAX:
            return self._read_arguments(data, behind, count, [], requests)
        return self._read_odd_count(data, position)

    def _read_arguments(
        self,
        data: bytes,
        position: int,
        missing: int,
        arguments: list[bytes],
        requests: list[list[bytes]],
    ) -> int:
        size = len(data)
        known = len(arguments)
        while position < size and data[position] == DOLLAR:
            length, behind = _read_number(data, position + 1)
            if length < 0 or length > ARGUMENT_BYTES_MAX:
                break
            end = behind + length
            if end + 2 > size:
                # Only what has arrived is kept, whatever was announced.
                self._length = length
                position = behind
                break
            arguments.append(data[behind:end])
            # The two bytes behind an argument are skipped, whatever they are.
            position = end + 2
            missing -= 1
            if missing == 0:
                requests.append(arguments)
                if self._missing > 0:
                    self._forget()
                return position
        self._missing = missing
        self._arguments = arguments
        # Counted once per argument: a request of a million arguments comes in many chunks.
        self._arguments_bytes += sum([len(argument) for argument in arguments[known:]])
        if position == size:
            return size
        if self._length == UNKNOWN:
            return self._read_odd_length(data, position)
        self._rest += data[position:]
        return size

    def _read_odd_count(self, data: bytes, position: int) -> int:
        """Judge a count that is no number of arguments we take: none, negative, cut or wrong."""
        end = self._find_line_end(data, position, TOO_BIG_COUNT)
        if end < 0:
            return len(data)
        if data[end + 1] == LF and _is_zero_or_negative(data[position + 1 : end]):
            return _skip_nothing(data, end + 2)
        return self._fail(INVALID_COUNT)

    def _read_odd_length(self, data: bytes, position: int) -> int:
        """Judge a length line that is not `$` and a length we take: it is cut or wrong."""
        end = self._find_line_end(data, position, TOO_BIG_LENGTH)
        if end < 0:
            return len(data)
        if data[position] != DOLLAR:
            return self._fail(EXPECTED_LENGTH % _visible(data[position]))
        return self._fail(INVALID_LENGTH)

    def _find_line_end(self, data: bytes, position: int, too_big: bytes) -> int:
        """Find the CR of a count or length line; if there is none, keep the line or fail."""
        end = data.find(b"\r", position, position + LINE_BYTES_MAX + 1)
        if 0 <= end < len(data) - 1:
            return end
        if end < 0 and len(data) - position > LINE_BYTES_MAX:
            self._fail(too_big)
        else:
            self._rest += data[position:]
        return -1

    def _read_inline(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        end = data.find(b"\n", position, position + LINE_BYTES_MAX + 1)
        if end < 0:
            if len(data) - position > LINE_BYTES_MAX:
                return self._fail(TOO_BIG_INLINE)
            self._rest += data[position:]
            return len(data)
        # A CR before the LF is white space to the tokenizer.
        arguments = words.split(data[position:end])
        if arguments is None:
            return self._fail(UNBALANCED_QUOTES)
        arguments = [argument for argument in arguments if argument]
        if arguments:
            requests.append(arguments)
            return end + 1
        return _skip_nothing(data, end + 1)

    def _continue_argument(self, data: bytes, requests: list[list[bytes]]) -> int:
        """Add to the argument in progress, and answer the position behind it."""
        needed = self._length + 2 - len(self._rest)
        if needed > len(data):
            self._rest += data
            return len(data)
        self._rest += data[:needed]
        del self._rest[self._length :]
        self._arguments.append(bytes(self._rest))
        self._arguments_bytes += self._length
        self._rest = bytearray()
        self._length = UNKNOWN
        self._missing -= 1
        if self._missing == 0:
            requests.append(self._arguments)
            self._forget()
        return needed

    def _continue_line(self, data: bytes) -> bytes:
        """Answer the line in progress together with `data`, or nothing if it is still cut.

        Only new bytes are searched, so a line that comes byte by byte costs no more than another.
        """
        rest = self._rest
        is_inline = self._missing == 0 and rest[0] != ASTERISK
        # A rest that ends in CR needs one more byte, any byte, to be judged.
        is_cut = b"\n" not in data if is_inline else b"\r" not in data and rest[-1] != CR
        if is_cut and len(rest) + len(data) <= LINE_BYTES_MAX:
            self._rest += data
            return b""
        self._rest = bytearray()
        return bytes(rest) + data

    def _fail(self, sentence: bytes) -> int:
        """Refuse this and all later input; the answer is a position behind any data."""
        self.error = b"Protocol error: " + sentence
        self._rest = bytearray()
        self._forget()
        return NOTHING_LEFT

    def _forget(self) -> None:
        """Leave the request in progress: it was delivered or refused."""
        self._arguments = []
        self._arguments_bytes = 0
        self._missing = 0
        self._length = UNKNOWN


def _read_canonical(data: bytes, position: int, requests: list[list[bytes]]) -> int:
    """Read requests up to the first doubtful one, and answer the position where that begins."""
    size = len(data)
    if data[position] != ASTERISK or size - position > SPLIT_BYTES_MAX:
        return position
    pieces = (data[position:] if position else data).split(b"\r\n")
    # No CRLF was seen behind the last piece: it is what came after the last complete request.
    last = len(pieces) - 1
    first = 0
    try:
        while first < last:
            end = first + PIECES[pieces[first]]
            if end > last:
                break
            for place in range(first + 2, end, 2):
                if HEADERS[len(pieces[place])] != pieces[place - 1]:
                    raise IndexError
            requests.append(pieces[first + 2 : end : 2])
            first = end
    except LookupError:
        # Not in the tables, or not in its place: not for us.
        pass
    if first == last:
        return size - len(pieces[last])
    return size - sum([len(piece) for piece in pieces[first:]]) - 2 * (last - first)


def _skip_nothing(data: bytes, position: int) -> int:
    """Answer where the next request that may have arguments begins."""
    found = NOTHING.match(data, position)
    return found.end() if found is not None else position


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    """Read a canonical number that is not negative, and its CRLF; else answer -1.

    Comes with the position behind. A number too large for any of our limits is as good as none.
    """
    size = len(data)
    number = -1
    while position < size:
        digit = data[position] - ZERO
        position += 1
        if 0 <= digit <= 9:
            if number == 0 or number > ARGUMENT_BYTES_MAX:
                break
            number = digit if number < 0 else number * 10 + digit
        elif digit == CR - ZERO and position < size and data[position] == LF:
            return number, position + 1
        else:
            break
    return -1, position


def _is_zero_or_negative(line: bytes) -> bool:
    if line == b"0":
        return True
    digits = line[1:]
    return (
        line.startswith(b"-")
        and digits.isdigit()
        and not digits.startswith(b"0")
        # Compared by length first, because converting a very long number is slow.
        and len(line) <= len(b"%d" % COUNT_MIN)
        and int(line) >= COUNT_MIN
    )


def _visible(byte: int) -> bytes:
    """Show a byte inside an error sentence, which must stay one printable line."""
    if byte in (CR, LF):
        return b" "
    if 0x20 <= byte <= 0x7E:
        return b"%c" % byte
    return b"\\x%02x" % byte
