"""What a conversation that was had elsewhere touched, read on this machine's disk and by its shell's grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.app.foreign_tags import ForeignTagger
from stanch.paths.canonical import Canonicaliser
from stanch.policy.known_tools import known
from stanch.values.message import Call, Message, Origin, Result, Role, Text


@pytest.fixture(scope="module")
def tagger() -> ForeignTagger:
    return ForeignTagger(known(), Canonicaliser())


def test_links_are_followed(tagger: ForeignTagger, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "k").write_text("KEY")
    (tmp_path / "plain").symlink_to("secrets/k")
    messages = [
        Message(Role.ASSISTANT, (Call("c", "Read", {"file_path": "plain"}),)),
        Message(Role.TOOL, (Result("c", (Text("KEY"),)),)),
    ]
    (tag,) = tagger.tagged(messages, str(tmp_path))[1].parts[0].tags
    assert tag.name == str((tmp_path / "secrets" / "k").resolve())


@pytest.mark.parametrize(
    ("command", "read", "written"),
    [
        ("cat a", ["/gone/a"], []),
        ("cd docs && head -n 3 k", ["/gone/docs", "/gone/docs/k"], []),
        ("cat a | wc -c > out", ["/gone/a"], ["/gone/out"]),
        ("cat 'a*'", ["/gone/a*"], []),
        ("cat *.py", ["/gone/**"], []),
        ("grep -rn KEY src", ["/gone/src/**"], []),
        ("echo KEY > secrets/k", [], ["/gone/secrets/k"]),
        ("cat <<EOF > secrets/k\nKEY\nEOF", [], ["/gone/secrets/k"]),
    ],
)
def test_commands_that_are_resolved(tagger: ForeignTagger, command: str, read: list[str], written: list[str]) -> None:
    found = tagger.command_paths(command, "/gone")
    assert found is not None
    shown = [[tag.name + "/**" * (tag.origin is Origin.SUBTREE) for tag in tags] for tags in found]
    assert shown == [read, written]


@pytest.mark.parametrize(
    "command", ["make", "cat $X", "python a.py", "git status", "cat a; ./run", "cat $(cat list)", "cat '"]
)
def test_commands_that_are_not(tagger: ForeignTagger, command: str) -> None:
    assert tagger.command_paths(command, "/gone") is None


def test_a_users_shapes_go_over_those_that_ship(tmp_path: Path) -> None:
    tagger = ForeignTagger(known(), Canonicaliser(), {"tools": {"Read": {"shape": "nothing"}}})
    messages = [
        Message(Role.ASSISTANT, (Call("c", "Read", {"file_path": "a"}),)),
        Message(Role.TOOL, (Result("c", (Text("x"),)),)),
    ]
    assert tagger.tagged(messages, str(tmp_path))[1] is messages[1]
