"""Replace a file so that a reader, or a crash, sees the old content or the new one.

The new content is written beside the file under a temporary name and renamed over it. With
`is_synced` the content is on the disk before the rename and the rename is on the disk before the
call returns, so what was promised afterwards survives a power cut, not only a SIGKILL.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["replace_file"]

NEW_FILE_MODE = 0o644


def replace_file(path: Path, content: bytes, *, is_synced: bool) -> None:
    """Give `path` this content, keeping its permissions; a symbolic link stays one.

    Raises `OSError`; the old file is then untouched and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    # The process id keeps two servers that share a file apart.
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content, mode, is_synced=is_synced)
        temporary.rename(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if is_synced:
        _sync_directory(target.parent)


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return NEW_FILE_MODE


def _write(path: Path, content: bytes, mode: int, *, is_synced: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, mode)
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:])
        if is_synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
