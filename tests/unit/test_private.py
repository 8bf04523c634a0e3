"""Files for their owner alone: whole or not at all, and never through what stands in the way."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from hansard import private
from hansard.api.exporting import output_folder


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
@pytest.mark.parametrize("replace", [False, True])
def test_a_file_is_private_from_its_first_byte_whatever_the_umask(
    tmp_path, monkeypatch, umask, replace
):
    modes, fdopen = [], os.fdopen

    def opened(descriptor, *args, **more):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return fdopen(descriptor, *args, **more)

    monkeypatch.setattr("os.fdopen", opened)
    before = os.umask(umask)
    try:
        private.write(tmp_path / "x", b"secret", replace=replace)
        private.make_folders(tmp_path / "a" / "b", tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert (tmp_path / "x").read_bytes() == b"secret"
    assert modes == [mode(tmp_path / "x")] == [0o600]
    assert mode(tmp_path / "a" / "b") == mode(tmp_path / "a" / "b" / "c") == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "x"]


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    (tmp_path / "a").mkdir(0o755)
    private.make_folders(tmp_path / "a", tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o755, 0o700)


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_replaces_nothing_and_follows_nothing(tmp_path, monkeypatch, links):
    if not links:  # a file system without hard links
        monkeypatch.setattr("os.link", refuse)
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(victim)
    (tmp_path / "nowhere").symlink_to(tmp_path / "not there")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    for name in ("victim", "link", "nowhere", "folder"):
        with pytest.raises(FileExistsError):
            private.write(tmp_path / name, b"mine")
    assert sorted(tmp_path.iterdir()) == before
    assert victim.read_bytes() == b"theirs"
    private.write(tmp_path / "new", b"mine")
    assert (tmp_path / "new").read_bytes() == b"mine"
    assert mode(tmp_path / "new") == 0o600


def refuse(*_, **__):
    raise PermissionError(1, "no hard links here")


def test_a_link_that_is_to_be_replaced_is_replaced_itself(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(victim)
    private.write(tmp_path / "link", b"mine", replace=True)
    assert victim.read_bytes() == b"theirs"
    assert (tmp_path / "link").read_bytes() == b"mine"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_that_is_put_in_the_place_of_its_own_gets_nothing(tmp_path, monkeypatch, replace):
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / "x").write_bytes(b"theirs")
    (tmp_path / "there").symlink_to("own")
    sync, other = os.fsync, tmp_path / "then"
    other.symlink_to("other")

    def swapped(descriptor):
        if other.is_symlink():
            other.replace(tmp_path / "there")
        sync(descriptor)

    monkeypatch.setattr("os.fsync", swapped)
    private.write(tmp_path / "there" / "x", b"mine", replace=replace)
    assert (tmp_path / "there").resolve().name == "other"
    assert [(found.name, found.read_bytes()) for found in (tmp_path / "other").iterdir()] == [
        ("x", b"theirs")
    ]
    assert [(found.name, found.read_bytes()) for found in (tmp_path / "own").iterdir()] == [
        ("x", b"mine")
    ]


def test_of_a_folder_that_is_held_nothing_is_read_written_or_removed_elsewhere(tmp_path):
    own, other, there = (tmp_path / name for name in ("own", "other", "there"))
    for folder in (other, there):
        folder.mkdir()
        (folder / "x").write_bytes(folder.name.encode())
    with private.held(there, own=True, listed=True) as folder:
        there.rename(own)
        there.symlink_to("other")
        folder.write("y", (b"mine",))
        with folder.opened("x") as file:
            assert file.read() == b"there"
        folder.remove("x")
        with folder.inner("z") as inner:
            inner.write("y", (b"mine",))
        assert sorted(folder.files()) == [("y", True), ("z", False)]
    assert (own / "y").read_bytes() == (own / "z" / "y").read_bytes() == b"mine"
    assert [found.name for found in other.iterdir()] == ["x"]


def test_a_folder_in_one_that_is_held_is_made_anew_and_removed_only_when_empty(tmp_path):
    with private.held(tmp_path, own=True, listed=True) as folder:
        with folder.inner("x") as inner:
            inner.write("y", (b"mine",))
        with pytest.raises(FileExistsError), folder.inner("x"):
            pass
        with pytest.raises(OSError, match="not empty"):
            folder.remove("x")
        (tmp_path / "x" / "y").unlink()
        folder.remove("x")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_regular_file_of_a_folder_that_is_held_is_not_read(tmp_path, kind):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    with private.held(tmp_path, own=True, listed=True) as folder:
        assert (kind, False) in folder.files()
        with pytest.raises(OSError, match=r"symbolic links|not a regular"), folder.opened(kind):
            pass


def test_a_link_to_a_folder_is_not_held_as_ones_own(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with private.held(tmp_path / "link"):
        pass
    for listed in (False, True):
        with (
            pytest.raises(NotADirectoryError),
            private.held(tmp_path / "link", own=True, listed=listed),
        ):
            pass


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="a folder is opened to be listed there")
def test_a_folder_that_nobody_may_list_is_written_into(tmp_path, monkeypatch):
    def refuse(path, flags, *rest, **more):  # as the system does, but for root
        if Path(path) == there and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *rest, **more)

    real, there = os.open, tmp_path / "there"
    monkeypatch.setattr(os, "open", refuse)
    with output_folder(there) as folder:
        folder.write("x", (b"mine",))
    with pytest.raises(PermissionError), output_folder(there, listed=True):
        pass
    assert (there / "x").read_bytes() == b"mine"


def test_where_a_folder_cannot_be_held_its_files_are_reached_by_their_path(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with private.held(tmp_path, own=True) as folder:
        folder.lock()
        folder.write("x", (b"mine",))
        with folder.opened("x") as file:
            assert file.read() == b"mine"
        assert list(folder.files()) == [("x", True)]
        folder.remove("x")
    assert list(tmp_path.iterdir()) == []


def test_the_name_beside_it_cannot_be_guessed_and_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    monkeypatch.setattr(private, "token_hex", lambda _: "guessed")
    (tmp_path / ".guessed.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        private.write(tmp_path / "x", b"mine")
    assert victim.read_bytes() == b"theirs"


def test_a_pipe_in_the_place_of_a_folder_holds_nobody_up(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    opening = os.open

    def at_once(path, flags, *more, **named):  # a wait would have no end
        found = opening(path, flags | os.O_NONBLOCK, *more, **named)
        assert stat.S_ISDIR(os.fstat(found).st_mode), (
            "it waits for somebody who writes into the pipe"
        )
        return found

    monkeypatch.setattr(os, "open", at_once)
    with pytest.raises(NotADirectoryError), private.locked(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("broken", ["os.fsync", "os.link", "os.replace"])
def test_what_fails_half_way_leaves_what_was_there(tmp_path, monkeypatch, broken):
    path, replace = tmp_path / "x", broken != "os.link"
    if replace:
        path.write_bytes(b"before")
    before = [(found.name, found.read_bytes()) for found in tmp_path.iterdir()]

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(broken, interrupted)
    with pytest.raises(KeyboardInterrupt):
        private.write(path, b"after", replace=replace)
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == before


def test_a_name_as_long_as_names_may_be(tmp_path):
    private.write(tmp_path / ("x" * 255), b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


def test_a_secret_that_others_can_read_is_not_read(tmp_path):
    private.write(tmp_path / "x", b"x")
    assert private.read(tmp_path / "x", 1, secret=True) == b"x"
    (tmp_path / "x").chmod(0o640)
    assert private.read(tmp_path / "x", 1) == b"x"
    with pytest.raises(private.Shared):
        private.read(tmp_path / "x", 1, secret=True)


def test_the_file_that_is_read_is_the_one_that_is_looked_at(tmp_path, monkeypatch):
    """Even where somebody puts another one in its place in between."""
    private.write(tmp_path / "x", b"mine")
    (tmp_path / "other").write_bytes(b"everybody's")
    (tmp_path / "other").chmod(0o644)
    looked = os.fstat

    def swapped(descriptor):
        (tmp_path / "other").replace(tmp_path / "x")
        monkeypatch.undo()
        return looked(descriptor)

    monkeypatch.setattr(os, "fstat", swapped)
    assert private.read(tmp_path / "x", 9, secret=True) == b"mine"


def test_a_link_is_not_followed_where_none_is_expected(tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "link").symlink_to("x")
    assert private.read(tmp_path / "link", 1) == b"x"
    with pytest.raises(OSError, match="link"):
        private.read(tmp_path / "link", 1, follow=False)
