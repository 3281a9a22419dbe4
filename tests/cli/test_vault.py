"""`stanch vault`: values come in by a prompt or standard input and never go out, with a server and without one."""

from __future__ import annotations

import getpass
import io
from pathlib import Path

import pytest

from stanch.app.sealing_keys import KeyPlace, key_place
from stanch.app.settings import Settings
from stanch.app.wiring import vault_of
from stanch.secrets.text import opened
from stanch.surfaces.cli import vault as command
from stanch.surfaces.cli import vault_forget
from stanch.values.fault import BadInput
from tests.cli.conftest import Ended, Stanch
from tests.http.served import World, served

VALUE = "marker-of-the-value-4711"


@pytest.fixture
def data(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of its own, beside the project."""
    for name in ("STANCH_KEY", "STANCH_DATABASE", "STANCH_URL", "STANCH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return project.parent / "data"


def known(data: Path, place: KeyPlace | None = None) -> list[tuple[str, str, bool]]:
    """Every value in the store of a data directory."""
    with vault_of(Settings(data, keys=place or KeyPlace())) as vault:
        return [(one.name, opened(one.value), one.current) for one in vault.entries()]


def silent(ended: Ended, code: int = 0) -> Ended:
    """How the command ended, as it was to, without a value in what it printed."""
    assert ended.code == code, ended
    assert "marker" not in ended.out + ended.err
    return ended


def test_without_a_server_the_store_is_used(stanch: Stanch, data: Path) -> None:
    at = ("--data", str(data))
    assert "the vault is empty" in silent(stanch("vault", "list", *at)).err
    silent(stanch("vault", "set", "STRIPE_KEY", "--note", "of the shop", *at, stdin=f"{VALUE}\n"))
    silent(stanch("vault", "set", "STRIPE_KEY", *at, stdin=f"{VALUE}-2\r\n"))
    warned = silent(stanch("vault", "set", "PIN", *at, "--json", stdin="1234"))
    assert "fewer than 8 characters" in warned.err
    assert warned.json["name"] == "PIN"
    silent(stanch("vault", "set", "TWO_LINES", *at, stdin=f"{VALUE}\nand more\n\n"))
    silent(stanch("vault", "revoke", "PIN", *at))
    assert known(data) == [
        ("PIN", "1234", False),
        ("STRIPE_KEY", VALUE, False),
        ("STRIPE_KEY", f"{VALUE}-2", True),
        ("TWO_LINES", f"{VALUE}\nand more\n", True),
    ]
    listed = silent(stanch("vault", "list", *at)).out
    assert "of the shop" in listed
    assert "revoked" in listed
    items = silent(stanch("vault", "list", *at, "--json")).json["items"]
    assert [one["name"] for one in items] == ["PIN", "STRIPE_KEY", "TWO_LINES"]
    key = data / "vault.key"
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "stdin", "problem"),
    [
        (("set", "A", VALUE), "", "never taken from an argument"),
        (("set", f"A={VALUE}"), VALUE, "'name' must begin with a letter"),
        (("set", "A"), "", "there is no value"),
        (("set", "A"), "\n", "there is no value"),
        (("set", "A"), b"\xff\xfe marker", "no text in UTF-8"),
        (("set", "A"), "marker" * 200_000, "too long"),
        (("set", "A"), "marker" * 20_000, "longer than 65,536"),
        (("set", "A", "--note", f"it is {VALUE}"), VALUE, "'note' holds the value"),
        (("set", "A", "--user"), VALUE, "'owner' is needed"),
        (("revoke", "marker_of_it"), "", "there is no secret of that name"),
        (("key", "--new", "--print"), "", "not both"),
        (("list", "--key-file", "k", "--key-env", "K"), "", "give one of --key-file and --key-env"),
        (("list", "--key-command", "'marker"), "", "a quote that is not closed"),
        (("list", "--key-env", "NOT_THERE"), "", "NOT_THERE is to hold the key"),
        (("list", "--key-file", "/nowhere/key"), "", "there is no key file /nowhere/key"),
    ],
)
def test_a_mistake_is_one_line_without_a_value(
    stanch: Stanch, data: Path, words: tuple[str, ...], stdin: str | bytes, problem: str
) -> None:
    ended = silent(stanch("vault", *words, "--data", str(data), stdin=stdin), 2)
    assert problem in ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1


def test_a_prompt_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return VALUE

    monkeypatch.setattr(command, "getpass", answer)
    assert opened(command._value()) == VALUE
    assert asked == ["value (not shown): "]
    assert getpass.getpass is not answer


def test_a_running_server_is_asked(stanch: Stanch, project: Path, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with served(World(tmp_path / "w")) as world:
        token = world.client().headers["Authorization"].removeprefix("Bearer ")
        at = ("--url", world.url, "--token", token)
        warned = silent(stanch("vault", "set", "A", *at, "--owner", "ada", "--user", stdin=f"{VALUE} "))
        assert "white space" in warned.err
        assert silent(stanch("vault", "list", *at, "--json")).json["items"][0]["scope"] == "user"
        assert "0 values sealed anew" in silent(stanch("vault", "reseal", *at)).out
        silent(stanch("vault", "revoke", "A", *at))
        assert "revoked before" in silent(stanch("vault", "revoke", "A", *at), 2).err
        silent(stanch("vault", "set", f"-{VALUE}", *at, stdin=VALUE), 2)
        assert [opened(one.value) for one in world.service.vault.entries()] == [f"{VALUE} "]


def test_a_key_is_replaced(stanch: Stanch, data: Path) -> None:
    at = ("--data", str(data))
    silent(stanch("vault", "set", "A", *at, stdin=VALUE))
    first = silent(stanch("vault", "key", *at, "--json")).json
    assert first["place"] == f"the file {data / 'vault.key'}"
    second = silent(stanch("vault", "key", *at, "--new", "--json")).json
    assert second["key"] != first["key"]
    assert f"1 value sealed anew; the key {second['key']} opens all" in silent(stanch("vault", "reseal", *at)).out
    key = data / "vault.key"
    key.write_bytes(key.read_bytes().splitlines(keepends=True)[0])
    assert known(data) == [("A", VALUE, True)]
    assert silent(stanch("vault", "reseal", *at, "--json")).json["resealed"] == 0


def test_a_key_that_is_gone_is_not_made_anew(stanch: Stanch, data: Path) -> None:
    at = ("--data", str(data))
    silent(stanch("vault", "set", "A", *at, stdin=VALUE))
    (data / "vault.key").unlink()
    assert "there is no key file" in silent(stanch("vault", "reseal", *at), 2).err
    assert "there is no key" in silent(stanch("vault", "set", "B", *at, stdin=VALUE), 2).err
    assert "A  " in silent(stanch("vault", "list", *at)).out, "names need no key"
    assert not (data / "vault.key").exists()


def test_a_value_that_was_set_by_mistake_is_forgotten(
    stanch: Stanch, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--data", str(data))
    silent(stanch("vault", "set", "WORD", *at, stdin=VALUE))
    silent(stanch("vault", "set", "WORD", *at, stdin=f"{VALUE}-2"))
    silent(stanch("vault", "set", "OTHER", *at, stdin=f"{VALUE}-3"))
    assert "2 values" in silent(stanch("vault", "list", *at)).out
    assert "is in use" in silent(stanch("vault", "forget", "WORD", "--yes", *at), 2).err
    silent(stanch("vault", "revoke", "WORD", *at))
    for words, problem in (
        (("WORD",), "say --yes where nobody can be asked"),
        (("MISSING", "--yes"), "there is no secret of that name"),
        ((), "give a NAME or --unreadable"),
        (("WORD", "--unreadable", "--yes"), "give a NAME or --unreadable"),
    ):
        assert problem in silent(stanch("vault", "forget", *words, *at), 2).err
    assert len(known(data)) == 3
    ended = silent(stanch("vault", "forget", "WORD", "--yes", *at))
    assert "looked for no more" in ended.err, "what it means is said"
    assert ended.out == "WORD is forgotten, with 2 values\n"
    assert known(data) == [("OTHER", f"{VALUE}-3", True)]
    assert "every value can be opened" in silent(stanch("vault", "forget", "--unreadable", *at)).out


@pytest.mark.parametrize(("typed", "forgets"), [("WORD", True), ("word", False), ("", False), ("yes", False)])
def test_a_person_types_the_name(monkeypatch: pytest.MonkeyPatch, typed: str, forgets: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda _: typed)
    if forgets:
        vault_forget._confirm("WORD", yes=False)
        return
    with pytest.raises(BadInput, match="nothing is forgotten"):
        vault_forget._confirm("WORD", yes=False)


def test_values_of_a_lost_key_are_forgotten_and_a_new_key_seals(stanch: Stanch, data: Path) -> None:
    at = ("--data", str(data))
    silent(stanch("vault", "set", "A", *at, stdin=VALUE))
    silent(stanch("vault", "set", "B", *at, stdin=f"{VALUE}-2"))
    key = data / "vault.key"
    away = key.rename(data / "away")
    told = silent(stanch("vault", "forget", "--unreadable", *at), 2)
    assert "there is no key" in told.err
    assert "if their key can be had again, stop here" in told.err
    assert "say --yes" in told.err
    away.rename(key)
    assert len(known(data)) == 2, "nothing was removed"
    key.rename(away)
    assert "2 rows forgotten" in silent(stanch("vault", "forget", "--unreadable", "--yes", *at)).out
    assert "the vault is empty" in silent(stanch("vault", "list", *at)).err
    silent(stanch("vault", "set", "A", *at, stdin=f"{VALUE}-3"))
    assert known(data) == [("A", f"{VALUE}-3", True)]
    assert key.read_bytes() != away.read_bytes()


def test_only_what_another_key_sealed_is_forgotten_through_a_server(
    stanch: Stanch, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "w").mkdir()
    with served(World(tmp_path / "w")) as world:
        token = world.client().headers["Authorization"].removeprefix("Bearer ")
        at = ("--url", world.url, "--token", token)
        for name in ("A", "B"):
            silent(stanch("vault", "set", name, *at, stdin=f"{VALUE}-{name}"))
        world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA' WHERE name = 'A'")
        ended = silent(stanch("vault", "forget", "--unreadable", "--yes", "--json", *at))
        assert [one["problem"] for one in ended.json["items"]] == ["its key is gone"]
        assert [opened(one.value) for one in world.service.vault.entries()] == [f"{VALUE}-B"]
        silent(stanch("vault", "revoke", "B", *at))
        assert silent(stanch("vault", "forget", "B", "--yes", "--json", *at)).json == {"name": "B", "forgotten": 1}


def test_a_key_of_the_environment_goes_before_the_file(
    stanch: Stanch, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = silent(stanch("vault", "key", "--print")).out.strip()
    monkeypatch.setenv("STANCH_KEY", made)
    silent(stanch("vault", "set", "A", "--data", str(data), stdin=VALUE))
    assert not (data / "vault.key").exists()
    assert known(data, key_place()) == [("A", VALUE, True)]
    told = silent(stanch("vault", "key", "--data", str(data), "--new"), 2)
    assert "the environment variable STANCH_KEY" in told.err
    assert made not in told.err


def test_a_key_file_elsewhere_belongs_to_the_server_alone(stanch: Stanch, data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "keys" / "k"
    elsewhere.parent.mkdir()
    at = ("--data", str(data), "--key-file", str(elsewhere))
    silent(stanch("vault", "key", *at, "--new"))
    silent(stanch("vault", "set", "A", *at, stdin=VALUE))
    settings = Settings(data, keys=KeyPlace(file=elsewhere))
    assert elsewhere.resolve() in settings.private(None)
    assert known(data, KeyPlace(file=elsewhere)) == [("A", VALUE, True)]
