"""Where keys come from: a new file is its owner's alone, and what is no key is named without being repeated."""

from __future__ import annotations

import base64
import os
import sys
import threading
import traceback
from pathlib import Path

import pytest

from stanch.host import keys
from stanch.secrets.sealing import Key, Place
from stanch.secrets.text import Secret, opened
from stanch.values.fault import BadInput

PLACE = Place("t", "r", "c")
MATERIAL = b"marker-of-a-key-0123456789abcdef"
LINE = base64.b64encode(MATERIAL)


def write(path: Path, text: bytes, mode: int = 0o600) -> Path:
    """A file with this mode, whatever the umask is."""
    path.write_bytes(text)
    path.chmod(mode)
    return path


def test_a_new_file_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        first = keys.from_file(tmp_path / "vault.key")
    finally:
        os.umask(old)
    assert (tmp_path / "vault.key").stat().st_mode & 0o777 == 0o600
    again = keys.from_file(tmp_path / "vault.key")
    assert opened(again.open(first.seal(Secret("x"), PLACE), PLACE)) == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["vault.key"]


def test_many_make_one_key(tmp_path: Path) -> None:
    start, found = threading.Barrier(8), []

    def make() -> None:
        start.wait(30)
        found.append(keys.from_file(tmp_path / "vault.key").current)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 8
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["vault.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o610])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    file = write(tmp_path / "k", LINE, mode)
    with pytest.raises(BadInput, match="chmod 600"):
        keys.from_file(file)


def test_a_link_a_directory_and_a_pipe_are_no_key_file(tmp_path: Path) -> None:
    write(tmp_path / "real", LINE)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "dir").mkdir()
    for name in ("link", "dangling", "dir", "none/k"):
        with pytest.raises(BadInput, match="key file"):
            keys.from_file(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n# only a comment\n",
        b"marker-of-a-key",
        LINE[:-4],
        LINE + LINE,
        LINE + b"\nmarker",
        b"\xff\xfe" + LINE,
        MATERIAL.hex().encode(),
        LINE.replace(b"=", b""),
    ],
)
def test_what_is_no_key_is_not_repeated(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(BadInput, match="holds no key") as raised:
        keys.from_file(write(tmp_path / "k", text))
    said = str(raised.value)
    assert "marker" not in said
    assert LINE.decode()[:8] not in said
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_the_first_key_seals_and_the_others_open(tmp_path: Path) -> None:
    file = write(tmp_path / "k", b"# the shop's\n\n  " + LINE + b"  \r\n")
    before = keys.from_file(file)
    assert before.current == Key(MATERIAL).id
    sealed = before.seal(Secret("x"), PLACE)
    after = keys.put_first(file)
    assert after.current != before.current
    assert opened(after.open(sealed, PLACE)) == "x"
    assert keys.from_file(file).current == after.current
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"# the shop's" in file.read_bytes()


def test_a_key_of_the_environment() -> None:
    ring = keys.from_environment("KEY", {"KEY": f"{LINE.decode()}\n{keys.new_key().decode()}"})
    assert ring.current == Key(MATERIAL).id
    for environment in ({}, {"KEY": ""}):
        with pytest.raises(BadInput, match="KEY is to hold the key, and is not set"):
            keys.from_environment("KEY", environment)
    with pytest.raises(BadInput, match="the environment variable KEY holds no key") as raised:
        keys.from_environment("KEY", {"KEY": "marker-\udcff"})
    assert "marker" not in str(raised.value)


def test_a_key_that_a_command_prints() -> None:
    ring = keys.from_command([sys.executable, "-c", f"print({LINE.decode()!r})"])
    assert ring.current == Key(MATERIAL).id


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ([], "is empty"),
        (["/nowhere/at/all"], "gave none: FileNotFoundError"),
        ([sys.executable, "-c", "print('marker'); raise SystemExit(3)"], "exit code 3"),
        ([sys.executable, "-c", "import sys; sys.stderr.write('marker'); print('marker')"], "holds no key on line 1"),
        ([sys.executable, "-c", ""], "holds no key"),
    ],
)
def test_a_command_that_gives_no_key(command: list[str], problem: str) -> None:
    with pytest.raises(BadInput, match=problem) as raised:
        keys.from_command(command)
    assert "marker" not in "".join(traceback.format_exception(raised.value)).partition("BadInput:")[2]


def test_a_command_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "SECONDS", 0.2)
    with pytest.raises(BadInput, match="TimeoutExpired"):
        keys.from_command([sys.executable, "-c", "import threading; threading.Event().wait(60)"])
