"""The policy file: read whole, every problem with its line, and what is broken stays broken."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from stanch.app.loading import open_engine
from stanch.policy.building import build
from stanch.policy.document import Policy, parse
from stanch.policy.places import Places, rule_lines
from stanch.policy.seeds import ROWS
from stanch.values.decision import Effect
from stanch.values.fault import BadInput
from stanch.values.reason import Code, LayerId

HEAD = "version = 1\n"
RULE = HEAD + "[[groups]]\nid = 'x'\n[[groups.rules]]\n"


def _policy(text: str) -> Policy:
    return build(parse(text, "stanch.toml"), workspace="/w", home="/h")


def _problems(text: str) -> list[tuple[int, str]]:
    return [(p.line, p.message) for p in _policy(text).problems]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("version = 2\n", 1, "'version' must be 1"),
        ("workspace = '.'\n", 1, "'version' is missing"),
        (HEAD + "a = \n", 2, "this is not TOML"),
        (HEAD + "[permissions]\nread = 1\n", 2, "unknown key 'permissions'"),
        (HEAD + "[[group]]\nid = 'x'\n", 2, "did you mean 'groups'"),
        (HEAD + "[[groups]]\nname = 'x'\n", 2, "'id' is missing"),
        (HEAD + "[[groups]]\nid = ''\n", 3, "'id' is empty"),
        (HEAD + "[[groups]]\nid = 'x'\n[[groups]]\nid = 'x'\n", 5, "stands twice"),
        (HEAD + "[[groups]]\nid = 'x'\nrules = [{ tool = 'a', action = 'no' }]\n", 4, "unknown action 'no' (known: "),
        (HEAD + "[[groups]]\nid = 'x'\nrules = 5\n", 4, "'rules' must be a list, got a number"),
        (RULE + "tool = 'a'\naction = 'deny'\ntols = 1\n", 7, "did you mean 'tool'"),
        (RULE + "action = 'deny'\n", 4, "'tool' is missing"),
        (RULE + "tool = '@raed'\naction = 'deny'\n", 5, "no effect class"),
        (RULE + "tool = 'a'\naction = 'deny'\npriority = '5'\n", 7, "a whole number"),
        (RULE + "tool = 'a'\naction = 'deny'\npriority = true\n", 7, "a boolean"),
        (RULE + "tool = 'a'\naction = 'allow'\nmandatory = true\n", 7, "mandatory"),
        (RULE + "tool = 'a'\naction = 'deny'\nsource = 'crom'\n", 7, "'cron'"),
        (RULE + "tool = 'a'\naction = 'deny'\npath = '*/../x'\n", 7, "'..'"),
        (HEAD + "[sessions.defaults.source.cron]\nallow_fs_writes = ['logs/*.txt']\n", 3, "write \"logs\""),
        (HEAD + "[sessions.defaults.agent.a]\nallow_fs_read = ['x']\n", 3, "allow_fs_reads"),
        (HEAD + "[sessions.defaults.agent.a]\nallow_fs_reads = [5]\n", 3, "must be a string, got a number"),
        (HEAD + "[tools.t]\neffects = [{ class = 'raed' }]\n", 3, "unknown class 'raed'; did you mean 'read'?"),
        (HEAD + "[tools.read_file]\neffects = []\n", 2, "Stanch's own tool"),
        (HEAD + "[models.assignments]\n'a/*' = 'nobody'\n", 3, "no tier 'nobody'"),
        (HEAD + "[tiers.t]\nlabel = 'T'\notherwise = { read = 'allow' }\n", 4, "'write' is missing"),
        (HEAD + "[organization]\nsource = 'x'\nmax_age_s = 0\n", 4, "above 0"),
        (HEAD + "on_layer_failure = 'allow'\n", 2, "'ask' or 'deny'"),
        (HEAD + "layer_timeout_ms = 0\n", 2, "above 0"),
        (HEAD + "layer_timeout_ms = 600001\n", 2, "600000"),
        (HEAD + "layer_timeout_ms = 'soon'\n", 2, "a whole number"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(text: str, line: int, says: str) -> None:
    found = _problems(text)
    assert [message for at, message in found if at == line and says in message], found


def test_every_mistake_is_named_not_only_the_first() -> None:
    text = (
        HEAD
        + "colour = 1\n[[groups]]\nid = 'a'\n[[groups.rules]]\ntool = 5\naction = 'deny'\n"
        + "[[groups]]\nid = 'b'\n[[groups.rules]]\ntool = 'x'\nactoin = 'deny'\n[tools.t]\neffect = []\n"
    )
    assert {line for line, _ in _problems(text)} == {2, 6, 10, 12, 13, 14}


def test_a_broken_rule_breaks_its_group_and_no_other() -> None:
    policy = _policy(
        HEAD + "[[groups]]\nid = 'a'\n[[groups.rules]]\ntool = 'x'\naction = 'alow'\n"
        "[[groups]]\nid = 'b'\n[[groups.rules]]\ntool = 'x'\naction = 'deny'\n"
    )
    assert policy.broken is None
    assert policy.groups["a"].broken == "stanch.toml:6"
    assert policy.groups["b"].broken is None
    assert len(policy.groups["b"].rules) == 1


def test_rules_of_a_broken_group_are_not_an_empty_list_that_asks(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(
        HEAD + "[[groups]]\nid = 'a'\n[[groups.rules]]\ntool = '*'\naction = 'alow'\n"
    )
    engine = open_engine(tmp_path / "stanch.toml")
    refused = engine.check("read_file", {"path": "x"}, group="a")
    assert (refused.effect, refused.reason.code.value) == (Effect.DENY, "policy_invalid")
    assert refused.reason.detail == "stanch.toml:6"
    assert engine.check("read_file", {"path": "x"}).effect is Effect.ALLOW


def test_a_mistake_outside_the_groups_refuses_everything(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD + "[permissions]\nread = { deny = ['**/.env*'] }\n")
    engine = open_engine(tmp_path / "stanch.toml")
    assert engine.check("read_file", {"path": ".env.local"}).reason.code.value == "policy_invalid"


def test_tiers_that_cannot_be_read_stand_in_nobodys_way_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(HEAD + "[tiers.t]\nlabel = 3\n")
    engine = open_engine(tmp_path / "stanch.toml")
    assert engine.check("read_file", {"path": "x"}).effect is Effect.ALLOW
    refused = engine.check("read_file", {"path": "x"}, model="a/b")
    assert refused.effect is Effect.DENY
    assert (refused.reason.code, refused.reason.layer) == (Code.POLICY_INVALID, LayerId.TIER)


def test_require_is_another_word_for_ask() -> None:
    policy = _policy(HEAD + "[[groups]]\nid = 'default'\n[[groups.rules]]\ntool = 'x'\naction = 'require'\n")
    assert policy.groups["default"].rules[0].action is Effect.ASK
    assert policy.groups["default"].rules[0].words == "ask x"


def test_a_file_without_default_has_the_seeded_one_and_one_with_it_replaces_it_whole() -> None:
    assert len(_policy(HEAD).groups["default"].rules) == len(ROWS)
    assert _policy(HEAD + "[[groups]]\nid = 'default'\n").groups["default"].rules == ()


def test_the_version_is_of_the_text() -> None:
    assert _policy(HEAD).version == _policy(HEAD).version != _policy(HEAD + "\n").version


ODD = """version = 1 # [[groups.rules]]
"workspace" = "."
[[ groups ]]
id = "a"
  [[groups.rules]]
  tool = "x"
  action = "deny"
[[groups.rules]] # a comment
tool = "[[groups.rules]]"
action = "deny"
[[groups]]
id = 'b'
rules = [
  { tool = "x", action = "deny" },
  # one more
  { tool = "y", action = "deny" },
]
[sessions.defaults.source]
cron = { security_group = "a" }
web.security_group = "b"
"""


def test_places_are_right_in_every_way_of_writing() -> None:
    places = Places(ODD)
    assert places.line(("groups", 0, "rules", 0)) == 5
    assert places.line(("groups", 0, "rules", 1, "tool")) == 9
    assert places.line(("groups", 1, "rules", 1)) == 16
    assert places.line(("groups", 1, "rules", 1, "action")) == 16
    assert places.line(("workspace",)) == 2
    assert places.line(("sessions", "defaults", "source", "cron", "security_group")) == 19
    assert places.line(("sessions", "defaults", "source", "web", "security_group")) == 20
    assert places.line(("not", "there")) == 1
    policy = _policy(ODD)
    assert [r.place for g in policy.groups.values() for r in g.rules][:4] == [
        "stanch.toml:5", "stanch.toml:8", "stanch.toml:14", "stanch.toml:16",
    ]  # fmt: skip


def test_the_quick_way_to_a_rules_line_says_nothing_where_it_could_be_wrong() -> None:
    text = HEAD + "[[groups]]\nid = 'a'\n[[groups.rules]]\ntool = 'x'\naction = 'deny'\n"
    assert rule_lines(text, 1) == [4]
    assert rule_lines(text, 2) is None
    assert rule_lines(text + 'note = """\n[[groups.rules]]\n"""\n', 2) is None
    assert tomllib.loads(text)


def test_a_policy_that_cannot_be_opened_is_a_plain_message(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        open_engine(tmp_path / "gone.toml")
    (tmp_path / "latin.toml").write_bytes(b"version = 1 # caf\xe9\n")
    with pytest.raises(BadInput, match="UTF-8"):
        open_engine(tmp_path / "latin.toml")
    with pytest.raises(BadInput):
        open_engine(tmp_path)


def test_the_workspace_is_neither_the_root_nor_a_home_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "stanch.toml").write_text(HEAD)
    with pytest.raises(BadInput, match="workspace"):
        open_engine(tmp_path / "stanch.toml")
    (tmp_path / "stanch.toml").write_text(HEAD + 'workspace = "~"\n')
    assert open_engine(tmp_path / "stanch.toml").policy.workspace == str(tmp_path.resolve())


def test_a_pattern_behind_a_link_holds_in_both_places(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "stanch.toml").write_text(
        HEAD + "[[groups]]\nid = 'default'\n[[groups.rules]]\ntool = '@read'\npath = 'link'\naction = 'deny'\n"
    )
    engine = open_engine(tmp_path / "stanch.toml")
    for path in ("link/x", "real/x"):
        assert engine.check("read_file", {"path": path}).effect is Effect.DENY
    assert engine.check("read_file", {"path": "other/x"}).effect is not Effect.DENY


def test_a_link_that_is_turned_after_loading_is_followed_to_where_it_leads_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stanch.app.engine.ANCHOR_SECONDS", -1.0)
    for folder in ("v1", "v2", "later"):
        (tmp_path / folder).mkdir()
    (tmp_path / "cur").symlink_to("v1")
    rule = "[[groups.rules]]\ntool = '@read'\naction = 'deny'\npath = "
    (tmp_path / "stanch.toml").write_text(HEAD + f"[[groups]]\nid = 'default'\n{rule}'cur'\n{rule}'late'\n")
    session = open_engine(tmp_path / "stanch.toml").session()

    def effect(path: str) -> Effect:
        return session.check("read_file", {"path": path}).effect

    assert [effect(p) for p in ("cur/k", "v1/k", "v2/k", "later/k")] == [Effect.DENY] * 2 + [Effect.ALLOW] * 2
    (tmp_path / "cur").unlink()
    (tmp_path / "cur").symlink_to("v2")
    (tmp_path / "late").symlink_to("later")
    assert [effect(p) for p in ("cur/k", "v2/k", "late/k", "later/k")] == [Effect.DENY] * 4
    assert effect("v1/k") is Effect.ALLOW


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("groups = 5\n", "a list"),
        ("x = " + "[" * 5000, ""),
        ("x = " + "1" * 6000 + "\n", ""),
        ("version = true\n", "version"),
        ("version = 1.0\n", "version"),
    ],
)
def test_no_policy_is_a_traceback(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "stanch.toml").write_text(text if "version" in text else HEAD + text)
    engine = open_engine(tmp_path / "stanch.toml")
    assert engine.policy.problems
    assert any(says in problem.message for problem in engine.policy.problems)
    assert engine.check("read_file", {"path": "x"}).effect is Effect.DENY


def test_a_policy_is_a_regular_file_and_may_begin_with_a_mark_of_its_encoding(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(BadInput, match="regular"):
        open_engine(tmp_path / "pipe.toml")
    with pytest.raises(BadInput, match="regular"):
        open_engine("/dev/zero")
    (tmp_path / "stanch.toml").write_bytes(b"\xef\xbb\xbfversion = 1\n")
    assert not open_engine(tmp_path / "stanch.toml").policy.problems
