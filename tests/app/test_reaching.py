"""A search or a move reaches what lies below: a rule that closes something there is not walked around from above."""

from __future__ import annotations

from pathlib import Path

import pytest

import stanch
from stanch.app.below import look_below
from stanch.app.engine import Engine

POLICY = """version = 1
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "/**/secrets"
action = "deny"
mandatory = true
[[groups.rules]]
tool = "@write"
path = "src/frozen"
action = "deny"
[[groups.rules]]
tool = "@read"
path = "."
action = "allow"
[[groups.rules]]
tool = "@write"
path = "."
action = "allow"
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for file in ("src/a.py", "src/frozen/b.py", "lib/c.py", "secrets/api.key", "app/secrets/deep.key", "docs/x.md"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("x")
    (tmp_path / "empty" / "secrets").mkdir(parents=True)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "stanch.toml").write_text(POLICY.replace("version = 1", 'version = 1\nworkspace = ".."'))
    return stanch.open(tmp_path / "conf" / "stanch.toml")


def _said(engine: Engine, tool: str, **arguments: str) -> str:
    decision = engine.check(tool, arguments)
    return f"{decision.effect.value} {decision.reason.code.value}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "x"}, "ask covers_refused"),
        ({"pattern": "x", "path": "."}, "ask covers_refused"),
        ({"pattern": "x", "path": "app"}, "ask covers_refused"),
        ({"pattern": "x", "path": "secrets"}, "deny rule"),
        ({"pattern": "x", "path": "secrets/api.key"}, "deny rule"),
        ({"pattern": "x", "glob": "secrets/**"}, "ask covers_refused"),
        ({"pattern": "x", "glob": "*.key"}, "ask covers_refused"),
        ({"pattern": "x", "glob": "{a,*.key}"}, "ask covers_refused"),
        ({"pattern": "x", "glob": "!*.py"}, "ask covers_refused"),
        ({"pattern": "x", "glob": "*.py"}, "allow rule"),
        ({"pattern": "x", "glob": "**/*.py"}, "allow rule"),
        ({"pattern": "x", "path": "src"}, "allow rule"),
        ({"pattern": "x", "path": "docs/x.md"}, "allow rule"),
        ({"pattern": "x", "path": "empty"}, "allow rule"),
        ({"pattern": "x", "path": "nowhere"}, "allow rule"),
    ],
)
def test_a_search_from_above_what_is_closed_is_a_question(engine: Engine, arguments: dict[str, str], said: str) -> None:
    assert _said(engine, "Grep", **arguments) == said


def test_neither_a_grant_nor_an_allow_answers_that_question(engine: Engine) -> None:
    decision = engine.check("Grep", {"pattern": "x"})
    assert decision.mandated
    assert decision.reason.rule is not None
    assert decision.reason.rule.words == "deny @read on /**/secrets"


def test_stanch_s_own_search_is_judged_at_its_root_since_it_leaves_out_what_is_closed(engine: Engine) -> None:
    assert _said(engine, "grep_files", pattern="x") == "allow rule"


@pytest.mark.parametrize(
    ("source", "destination", "said"),
    [
        ("lib", "lib2", "allow rule"),
        ("src", "src2", "ask covers_refused"),
        ("app", "docs/app", "ask covers_refused"),
        ("conf", "docs/conf", "deny path_protected"),
        ("conf/stanch.toml", "docs/x", "deny path_protected"),
        ("docs/x.md", "src/frozen/x.md", "deny rule"),
        ("docs", "docs/stanch.toml", "deny path_protected"),
        ("lib", ".claude", "deny runs_code"),
        (".", "elsewhere", "deny path_protected"),
    ],
)
def test_a_move_takes_nothing_along_that_is_closed(engine: Engine, source: str, destination: str, said: str) -> None:
    assert _said(engine, "mcp__filesystem__move_file", source=source, destination=destination) == said


def test_a_policy_file_is_planted_nowhere(engine: Engine) -> None:
    assert _said(engine, "Write", file_path="src/stanch.toml") == "deny path_protected"
    assert _said(engine, "Write", file_path="src/stanch.toml.md") == "allow rule"


def test_more_than_is_looked_through_is_a_question(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number}").touch()
    below = look_below(str(tmp_path), most=10)
    assert below is not None
    assert not below.complete
    whole = look_below(str(tmp_path), most=30)
    assert whole is not None
    assert whole.complete
    assert len(whole.keys) == 30
    assert look_below(str(tmp_path / "f1")) is None
    assert look_below(str(tmp_path / "gone")) is None


def test_more_than_is_looked_through_matters_only_where_a_rule_closes_something(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stanch.app.below.look_below.__kwdefaults__", {"only": "", "folders": False, "most": 1})
    assert _said(engine, "Grep", pattern="x", path="src") == "ask covers_too_much"
    (tmp_path / "conf" / "stanch.toml").write_text('version = 1\nworkspace = ".."\n[[groups]]\nid = "default"\n')
    assert _said(stanch.open(tmp_path / "conf" / "stanch.toml"), "Grep", pattern="x") == "allow read_grant"


def test_links_below_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    below = look_below(str(tmp_path))
    assert below is not None
    assert below.keys == (str(tmp_path / "loop"),)


def test_tools_of_a_known_server_are_known(engine: Engine) -> None:
    assert engine.check("mcp__github__get_file_contents", {"path": "secrets/x"}).effect.value == "ask"
    assert engine.check("mcp__githubber__get", {"path": "secrets/x"}).effect.value == "deny"


def test_neither_a_call_nor_a_decision_prints_its_arguments(engine: Engine) -> None:
    decision = engine.check("Write", {"file_path": "lib/x", "content": "TOPSECRET"})
    assert "TOPSECRET" not in f"{decision!r} {decision.call!s} {decision.call.call}"


def test_wrong_types_are_named_not_a_traceback(engine: Engine) -> None:
    assert engine.session(source="cron").layers
    with pytest.raises(stanch.BadContext, match="'corn'"):
        engine.session(source="corn")
    with pytest.raises(stanch.BadCall, match="name"):
        engine.check("", {})
