"""What becomes of a command whose parser is missing, hangs, dies or prints nonsense, or it is itself a monster?

Every one is a question, `command_unread`: never an answer that allows, never an exception.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.app import shell_world
from stanch.app.engine import Engine
from stanch.host.shell_parser import MOST_REMEMBERED, MOST_TREE_BYTES, ShellParser
from stanch.policy.shell.reading import MOST_BYTES, Unparsed

POLICY = """version = 1
[[groups]]
id = "default"
[[groups.rules]]
tool = "execute_cmd"
command = "ok *"
action = "allow"
"""
UNREAD = "ask command_unread"
PATIENT = 30.0
HASTY = 0.2


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "stanch.toml").write_text(POLICY)
    return stanch.open(tmp_path / "stanch.toml")


def _said(engine: Engine, command: str) -> str:
    """The answer, which has to be the same a second time."""
    said = []
    for _ in range(2):
        decision = engine.session().check("execute_cmd", {"command": command})
        said.append(f"{decision.effect.value} {decision.reason.code.value}")
        assert decision.mandated == (said[-1] == UNREAD)
    assert said[0] == said[1]
    return said[0]


def _program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "parser"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def _use(monkeypatch: pytest.MonkeyPatch, program: str, seconds: float = PATIENT) -> ShellParser:
    parser = ShellParser(program, seconds)
    monkeypatch.setattr(shell_world, "parser", lambda: parser)
    return parser


def _printing(tmp_path: Path, text: str | bytes) -> str:
    out = tmp_path / "out"
    out.write_bytes(text.encode() if isinstance(text, str) else text)
    return _program(tmp_path, f"cat {out}")


def test_a_sound_parser_lets_the_rules_speak(engine: Engine) -> None:
    assert _said(engine, "ok a") == "allow rule"


# --- the parser ----------------------------------------------------------------------------------------------------


def test_no_parser(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _use(monkeypatch, str(tmp_path / "nowhere"))
    assert _said(engine, "ok a") == UNREAD


def test_no_parser_is_installed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stanch.host.shell_parser._installed", lambda: None)
    parser = ShellParser()
    monkeypatch.setattr(shell_world, "parser", lambda: parser)
    assert _said(engine, "ok a") == UNREAD


@pytest.mark.parametrize("mode", [0o644, 0o000])
def test_a_parser_that_may_not_be_run(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int
) -> None:
    program = Path(_program(tmp_path, "exit 0"))
    program.chmod(mode)
    _use(monkeypatch, str(program))
    assert _said(engine, "ok a") == UNREAD


@pytest.mark.parametrize("script", ["exec sleep 60", "sleep 60", "cat; exec sleep 60", "exec <&-; exec sleep 60"])
def test_a_parser_that_hangs(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    _use(monkeypatch, _program(tmp_path, script), HASTY)
    assert _said(engine, "ok a") == UNREAD


@pytest.mark.parametrize(
    "script", ["kill -9 $$", "kill -11 $$", "exit 1", "exit 0", 'echo \'{"Type":"File"}\'; exit 2']
)
def test_a_parser_that_dies(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    _use(monkeypatch, _program(tmp_path, script))
    assert _said(engine, "ok a") == UNREAD


DEEP = '{"Type":"File","Stmts":[' + '{"Cmd":{"Type":"Subshell","Stmts":[' * 50_000
GARBAGE: dict[str, str | bytes] = {
    "text": "ok",
    "a list": "[]",
    "a number": "1",
    "another tree": '{"Type":"Word"}',
    "a tree that is cut short": '{"Type":"File","Stmts":[{"Cmd":',
    "two trees": '{"Type":"File"}{"Type":"File"}',
    "not UTF-8": b'{"Type":"File","Stmts":"\xff\xfe"}',
    "NULs": b"\0" * 100,
    "a deep tree": DEEP,
    "a deep tree that ends": DEEP + "]}}" * 50_000 + "]}",
    "a huge tree": b'{"Type":"File","Stmts":[' + b" " * MOST_TREE_BYTES + b"]}",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_parser_that_prints_garbage(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    _use(monkeypatch, _printing(tmp_path, GARBAGE[kind]))
    assert _said(engine, "ok a") == UNREAD


def _call(**fields: Any) -> list[Any]:
    return [{"Cmd": {"Type": "CallExpr", **fields}}]


SHAPES: dict[str, Any] = {
    "a statement that is a number": [1],
    "statements that are text": "x",
    "a statement that is null": [None],
    "a command that is a number": [{"Cmd": 3}],
    "a command without a type": [{"Cmd": {}}],
    "a type that is a number": [{"Cmd": {"Type": 5}}],
    "a type that nobody knows": [{"Cmd": {"Type": "Ritual"}}],
    "a type that is a method": [{"Cmd": {"Type": "Script"}}],
    "words that are a number": _call(Args=7),
    "a word that is a number": _call(Args=[7]),
    "pieces that are a number": _call(Args=[{"Parts": 7}]),
    "a piece that is a number": _call(Args=[{"Parts": [{"Type": "Lit", "Value": 7}]}]),
    "a piece that nobody knows": _call(Args=[{"Parts": [{"Type": "Rune"}]}]),
    "a pair without its halves": [{"Cmd": {"Type": "BinaryCmd"}}],
    "a redirection that is a number": [{"Redirs": [5]}],
}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_tree_of_another_shape(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    _use(monkeypatch, _printing(tmp_path, json.dumps({"Type": "File", "Stmts": SHAPES[kind]})))
    assert _said(engine, "ok a") == UNREAD


# --- the command ---------------------------------------------------------------------------------------------------

DEPTH = 10_000
MONSTERS = {
    "NUL": "ok \0 a",
    "NUL at the end": "ok a\0",
    "carriage return": "ok a\rbad1",
    "a line of Windows": "ok a\r\n",
    "half a surrogate": "ok \ud800",
    "bytes that are not UTF-8": b"ok \xff\xfe".decode("utf-8", "surrogateescape"),
    "surrogates in a nested command": "sh -c 'ok \udcff'",
    "a megabyte": "ok " + "a" * (1 << 20),
    "one byte too long": "ok " + "a" * (MOST_BYTES - 2),
    "too long in bytes only": "ok " + "é" * (MOST_BYTES // 2),
    "subshells": "(" * DEPTH + "ok" + ")" * DEPTH,
    "substitutions": "ok " + "$(" * DEPTH + "ok" + ")" * DEPTH,
    "groups": "{ " * DEPTH + "ok; " + "} " * DEPTH,
    "defaults": "ok " + "${A:-" * DEPTH + "}" * DEPTH,
    "arithmetic": "ok $((" + "(" * DEPTH + "1" + ")" * DEPTH + "))",
    "quotes": '"$(' * DEPTH + "ok" + ')"' * DEPTH,
    "conditions": "if ok; then " * 4_000 + "ok;" + "fi;" * 4_000,
    "negations": "! " * DEPTH + "ok",
    "pipes": "ok|" * DEPTH + "ok",
    "chains": "ok&&" * DEPTH + "ok",
    "many commands": "ok\n" * DEPTH,
    "many words of braces": "ok " + "{a,b}" * 20,
    "an open quote": 'ok "',
    "an open substitution": "ok $(",
    "code within code": "eval " * 200 + "ok",
    "a shell within a shell": "sh -c 'sh -c \"sh -c \\\"ok; \\$(ok \\$(cat\\\"\"'",
}  # fmt: skip


@pytest.mark.parametrize("kind", MONSTERS)
def test_a_monstrous_command(engine: Engine, kind: str) -> None:
    assert _said(engine, MONSTERS[kind]) == UNREAD


def test_a_command_as_long_as_may_be_is_read(engine: Engine) -> None:
    assert _said(engine, "ok " + "a" * (MOST_BYTES - 3)) == "allow rule"


def test_what_cannot_be_read_hides_nothing_that_is_denied(tmp_path: Path) -> None:
    rule = '[[groups.rules]]\ntool = "execute_cmd"\ncommand = "bad1 *"\naction = "deny"\n'
    (tmp_path / "stanch.toml").write_text(POLICY + rule)
    assert _said(stanch.open(tmp_path / "stanch.toml"), "bad1 a; sh -c 'ok \"'") == "deny rule"


# --- the memory of trees -------------------------------------------------------------------------------------------


def _tree(tmp_path: Path, size: int) -> str:
    return _printing(tmp_path, json.dumps({"Type": "File", "Stmts": [], "Last": " " * size}))


def test_only_so_many_trees_are_remembered(tmp_path: Path) -> None:
    parser = ShellParser(_tree(tmp_path, 100), PATIENT)
    for number in range(MOST_REMEMBERED + 20):
        parser.parse(f"ok {number}")
    assert len(parser._remembered) <= MOST_REMEMBERED


def test_large_trees_do_not_fill_the_memory(tmp_path: Path) -> None:
    parser = ShellParser(_tree(tmp_path, 2 << 20), PATIENT)
    for number in range(24):
        parser.parse(f"ok {number}")
    assert 1 <= len(parser._remembered) <= 12, "a tree of 2 MiB holds many times as much; so many of them are too many"


def test_what_was_not_parsed_is_tried_again(tmp_path: Path) -> None:
    program = Path(_program(tmp_path, "exit 1"))
    parser = ShellParser(str(program), PATIENT)
    with pytest.raises(Unparsed, match="not valid bash"):
        parser.parse("ok")
    program.write_text('#!/bin/sh\necho \'{"Type":"File","Stmts":[]}\'\n')
    assert parser.parse("ok") == {"Type": "File", "Stmts": []}
