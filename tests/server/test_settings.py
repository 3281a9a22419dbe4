"""The data directory: where it lies, who may use it, and that one server at a time has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stanch.app.settings import Settings, make_private, read_private, settings_of, usual_data, write_private
from stanch.host.locking import Held, Lock
from stanch.storage.engine import url_of
from stanch.values.fault import BadInput


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, entered, whose owner's home is beside it."""
    found = tmp_path.resolve() / "my project"
    found.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(found)
    return found


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_data_lies_in_the_users_state_and_outside_of_the_workspace(workspace: Path) -> None:
    data = settings_of().data
    assert data.parent == workspace.parent / "home" / ".local" / "state" / "stanch"
    assert data.name.startswith("my-project-")
    assert not data.exists()


def test_the_state_directory_is_the_one_that_the_user_named(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert settings_of().data.parent == tmp_path.resolve() / "state" / "stanch"
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert settings_of().data.parent.parent.parent.name == ".local"


def test_each_workspace_has_data_of_its_own(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "my project"
    other.mkdir(parents=True)
    named = {settings_of(workspace=one).data for one in (workspace, other)}
    assert len(named) == 2
    (tmp_path / "link").symlink_to(workspace)
    assert settings_of(workspace=tmp_path / "link").data == settings_of().data


def test_the_bytes_of_files_belong_to_the_server_wherever_they_are(workspace: Path, tmp_path: Path) -> None:
    assert settings_of().blobs == settings_of().data / "blobs"
    elsewhere = settings_of(content=tmp_path / "bytes")
    assert elsewhere.blobs == tmp_path / "bytes"
    assert tmp_path / "bytes" in elsewhere.private(None)


def test_the_policys_directory_is_the_workspace_where_none_is_named(workspace: Path, tmp_path: Path) -> None:
    (workspace / "stanch.toml").write_text("version = 1\n", "utf-8")
    settings = settings_of(policy=Path("stanch.toml"))
    assert settings.policy == workspace / "stanch.toml"
    assert settings.data == usual_data(workspace)
    assert settings.address == f"sqlite:///{settings.data}/stanch.db"


@pytest.mark.parametrize("name", ["/", "…", "-x", "a" * 300, "..."])
def test_every_workspace_has_a_name_that_a_directory_may_have(workspace: Path, name: str) -> None:
    data = usual_data(Path("/w") / name)
    assert len(data.name) < 60
    assert data.name[0] not in ".-"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"policy": Path("none.toml")}, "there is no policy file none.toml"),
        ({"workspace": Path("none")}, "the workspace none is no directory"),
        ({"data": Path(".")}, "holds the workspace"),
        ({"data": Path("..")}, "holds the workspace"),
        ({"content": Path("..")}, "holds the workspace"),
        ({"data": Path("what?")}, "has a '\\?' in its path"),
    ],
)
def test_a_mistake_is_named(workspace: Path, given: dict[str, Path], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        settings_of(**given)  # type: ignore[arg-type]
    assert list(workspace.iterdir()) == []


def test_a_new_directory_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "b") == 0o700
    make_private(tmp_path / "a" / "b")


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(tmp_path: Path, bits: int) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(bits)
    with pytest.raises(BadInput, match=r"others can write the data directory .*: chmod go-w "):
        make_private(tmp_path / "data")


def test_a_directory_that_everybody_can_replace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(BadInput, match="everybody can write"):
        make_private(tmp_path / "open" / "data")
    (tmp_path / "open").chmod(0o1777)
    make_private(tmp_path / "open" / "data")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 12345, -1)
    with pytest.raises(BadInput, match="belongs to another user"):
        make_private(tmp_path / "data")


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(BadInput, match="no directory"):
        make_private(tmp_path / "data")
    with pytest.raises(BadInput, match="cannot be made: not a directory"):
        make_private(tmp_path / "data" / "below")


def test_a_secret_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    assert read_private(file) is None
    write_private(file, "one\n")
    (tmp_path / ".secret.new").write_text("left behind by a kill", "utf-8")
    write_private(file, "two\n")
    assert (read_private(file), mode(file)) == ("two\n", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_a_secret_that_others_may_have_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    write_private(file, "hunter2")
    file.chmod(0o640)
    with pytest.raises(BadInput, match="chmod 600") as caught:
        read_private(file)
    assert "hunter2" not in str(caught.value)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(BadInput, match="cannot be read"):
        read_private(tmp_path / "link")


def test_what_lies_beside_a_database_elsewhere_is_private_too(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data")
    assert settings.private(None) == settings.private(f"{tmp_path}/data/stanch.db") == (tmp_path / "data",)
    found = settings.private(f"{tmp_path}/x.db")
    assert [path.name for path in found] == ["data", "x.db", "x.db-wal", "x.db-shm", "x.db-journal"]


@pytest.mark.parametrize("name", ["data", "my data", "a%20b", "100%", "a#b:c@d", "d\u00e9j\u00e0"])
def test_the_database_lies_in_the_data_directory_whatever_its_name(tmp_path: Path, name: str) -> None:
    settings = Settings(tmp_path / name)
    assert url_of(settings.address).database == str(tmp_path / name / "stanch.db")


def test_one_at_a_time_has_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with Lock(path) as lock:
        lock.tell("somebody")
        with pytest.raises(Held) as caught:
            Lock(path)
        assert caught.value.holder == "somebody"
    with Lock(path):
        assert path.read_text("utf-8") == ""
    assert mode(path) == 0o600


def test_a_lock_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious", "utf-8")
    (tmp_path / "lock").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"):
        Lock(tmp_path / "lock")
    assert (tmp_path / "victim").read_text("utf-8") == "precious"
