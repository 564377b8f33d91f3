"""A file is the old one or the new one, whatever happens in between."""

import os

import pytest

from symattn._files import replace_file, write_results
from symattn.errors import ComputationFailed


def test_what_is_written_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path, synced, plain = tmp_path / "new" / "file", [], os.fsync

    def fsync(number):
        plain(number)
        synced.append((os.fstat(number).st_size, path.read_bytes() if path.exists() else None))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(path, b"first")
    replace_file(path, b"the second")
    assert synced == [(5, None), (10, b"first")]
    assert path.read_bytes() == b"the second"
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    replace_file(path, b"old")

    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(ComputationFailed, match="file: No space left on device; name a directory"):
        write_results({"file": b"new"}, tmp_path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to(path)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
