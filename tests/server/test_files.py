"""A file is replaced as a whole, and keeps what is not its content."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from disque.server.files import remove_leftovers, replace_file


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_file_gets_its_content_and_nothing_else_is_left(tmp_path: Path, is_synced: bool) -> None:
    path = tmp_path / "file"

    replace_file(path, b"old and long", is_synced=is_synced)
    replace_file(path, b"new", is_synced=is_synced)

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"secret")
    path.chmod(0o640)

    replace_file(path, b"new", is_synced=False)

    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_for_those_whom_the_umask_lets_in(tmp_path: Path) -> None:
    path = tmp_path / "file"
    old_mask = os.umask(0o027)

    try:
        replace_file(path, b"secret", is_synced=False)
    finally:
        os.umask(old_mask)

    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays_when_root_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    os.chown(path, 1234, 5678)

    replace_file(path, b"new", is_synced=False)

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_reader_keeps_the_file_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with path.open("rb") as reader:
        replace_file(path, b"new", is_synced=False)

        assert reader.read() == b"old"


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)

    replace_file(link, b"new", is_synced=False)

    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()

    with pytest.raises(IsADirectoryError):
        replace_file(path, b"new", is_synced=False)

    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "nodes.conf"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [
        "nodes.conf",
        "nodes.conf.lock",
        f"nodes.conf.{os.getpid()}.tmp",
        f"other.conf.{dead.pid}.tmp",
        "nodes.conf.x.tmp",
        "nodes.conf..tmp",
        f"nodes.conf.{'9' * 20}.tmp",
    ]
    for name in (*kept, f"nodes.conf.{dead.pid}.tmp"):
        (tmp_path / name).touch()

    remove_leftovers(path)

    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(kept)
