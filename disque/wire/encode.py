"""Write requests the way every parser reads them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["encode_argument", "encode_request"]


def encode_request(arguments: Sequence[bytes]) -> bytes:
    r"""Write a request.

    >>> encode_request([b"QLEN", b"q"])
    b'*2\r\n$4\r\nQLEN\r\n$1\r\nq\r\n'
    """
    written = [encode_argument(argument) for argument in arguments]
    return b"*%d\r\n%b" % (len(arguments), b"".join(written))


def encode_argument(argument: bytes) -> bytes:
    r"""Write one argument with its length.

    >>> encode_argument(b"QLEN")
    b'$4\r\nQLEN\r\n'
    """
    return b"$%d\r\n%b\r\n" % (len(argument), argument)
