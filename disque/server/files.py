"""Replace a file so that a reader, or a crash, sees the old content or the new one.

The new content is written beside the file under a temporary name and renamed over it. With
`is_synced` the content is on the disk before the rename and the rename is on the disk before the
call returns, so what was promised afterwards survives a power cut, not only a SIGKILL.

A file keeps its permissions, and its owner when root replaces it, because a service that root was
started as once must find its files again. A new file gets what the umask leaves of the usual ones.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["remove_leftovers", "replace_file"]

NEW_FILE_MODE: Final = 0o644
# Process ids have seven digits at most; what is longer was named by somebody else.
PROCESS_DIGITS_MAX: Final = 10


def replace_file(path: Path, content: bytes, *, is_synced: bool) -> None:
    """Give `path` this content, keeping owner and permissions; a symbolic link stays one.

    Raises `OSError`; the old file is then untouched and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    old = _status_of(target)
    # The process id keeps two servers that share a file apart.
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content, old, is_synced=is_synced)
        temporary.rename(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if is_synced:
        _sync_directory(target.parent)


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they replaced `path` left beside it."""
    target = Path(os.path.realpath(path))
    for beside in target.parent.iterdir():
        process = beside.name.removeprefix(f"{target.name}.").removesuffix(".tmp")
        is_ours = process.isascii() and process.isdigit() and len(process) < PROCESS_DIGITS_MAX
        if is_ours and beside.name == f"{target.name}.{process}.tmp" and not _is_alive(process):
            beside.unlink(missing_ok=True)


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _status_of(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes, old: os.stat_result | None, *, is_synced: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, NEW_FILE_MODE if old is None else 0o600)
    try:
        if old is not None:
            if os.geteuid() == 0:
                # Nobody else can give files away, and a sandbox may punish the attempt.
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, old.st_mode & 0o7777)
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
