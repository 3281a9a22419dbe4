"""Does no suggestion open more than the call, whatever names somebody has given to files, commands and tools?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from stanch.app.beside import Party
from stanch.app.flipping import Flipping, Flips
from stanch.app.loading import open_engine, read_document
from stanch.app.recorded import Recorded
from stanch.policies import PolicyRequest, Reach, Says
from stanch.policy.changes import Kind, What
from stanch.values.call import ToolCall
from stanch.values.decision import Effect
from stanch.values.reason import LayerId

ASKS = 'version = 1\nworkspace = "w"\n[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "*"\naction = "ask"\n'
MANY_SECONDS = 20.0
"""WHY so long: the machine may have other things to do; what it takes by itself is under one."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    return tmp_path.resolve()


def flips(root: Path, text: str, tool: str, arguments: dict[str, Any], to: Effect = Effect.ALLOW, **who: Any) -> Flips:
    file = root / "stanch.toml"
    file.write_text(text, "utf-8")
    session = open_engine(file).session(**who)
    decision = session.check(tool, arguments, trace=True)
    return Flipping([Party(session)], decision, read_document(file)).flips(to)


def answer(root: Path, found: Flips, tool: str, arguments: dict[str, Any], **who: Any) -> Effect:
    """The answer to a call once the first change is in the file."""
    text = found.suggested[0].patch.text
    assert text is not None
    file = root / "stanch.toml"
    file.write_text(text, "utf-8")
    engine = open_engine(file)
    assert not engine.policy.problems
    return engine.session(**who).check(tool, arguments).effect


@pytest.mark.parametrize(
    "name", ["a[b]", "{x}", "!y", "~z", "$HOME", "a\nb", 'q"u', "t\tab", "\u202eevil", "é", "a b", "#", "'", "\\"]
)
def test_an_odd_name_is_named_alone(root: Path, name: str) -> None:
    call = {"file_path": f"{root}/w/{name}"}
    found = flips(root, ASKS, "Write", call)
    assert found.suggested[0].change.what is What.ADD
    assert all(char.isprintable() for line in found.suggested[0].patch.lines for char in line)
    assert answer(root, found, "Write", call) is Effect.ALLOW
    for other in ("ab", "x", "y", "HOME", "b", "a", "z", f"{name}x"):
        assert answer(root, found, "Write", {"file_path": f"{root}/w/{other}"}) is Effect.ASK
    assert answer(root, found, "Read", call) is not Effect.DENY


@pytest.mark.parametrize("name", ["a*b", "a?b", "*", "**", "d*/x"])
def test_a_name_that_would_be_a_pattern_is_never_written(root: Path, name: str) -> None:
    found = flips(root, ASKS, "Write", {"file_path": f"{root}/w/{name}"})
    assert not found.suggested
    assert any("no way to write a * or a ?" in why for why in found.cannot)


def test_dots_and_links_are_named_where_they_lead(root: Path) -> None:
    (root / "w" / "real").mkdir()
    (root / "w" / "link").symlink_to("real")
    call = {"file_path": "link/../link/x"}
    found = flips(root, ASKS, "Write", call)
    assert 'path = "real/x"' in found.suggested[0].patch.lines
    assert answer(root, found, "Write", call) is Effect.ALLOW
    assert answer(root, found, "Write", {"file_path": "real/y"}) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "rm *",
        "echo $X && rm a",
        "sh -c 'rm -rf a'",
        "python $X",
        "$(x) y",
        "a=$B cmd c",
        "env",
        'printf "\t" x',
    ],
)
def test_no_command_pattern_covers_more_than_the_command(root: Path, command: str) -> None:
    found = flips(root, ASKS, "Bash", {"command": command})
    if not found.suggested:
        return
    for other in (
        f"{command} more",
        f"{command} --force",
        command.split(maxsplit=1)[0],
        f"{command}; touch y",
        "rm -rf b",
    ):
        if other != command:
            assert answer(root, found, "Bash", {"command": other}) is not Effect.ALLOW, found.suggested[0].patch


def test_a_pattern_that_would_cover_other_words_too_is_not_written(root: Path) -> None:
    found = flips(root, ASKS, "Bash", {"command": "foo -x y -x"})
    assert not found.suggested
    assert found.cannot == ("no rule can name this command without others beside it",)


def test_a_search_from_above_is_counted_among_what_changes(root: Path) -> None:
    (root / "w" / "b").mkdir()
    (root / "w" / "b" / "x").write_text("x", "utf-8")
    denies = '[[groups.rules]]\ntool = "@read"\npath = "b/*"\naction = "deny"\n'
    allows = '[[groups.rules]]\ntool = "@read"\naction = "allow"\n'
    file = root / "stanch.toml"
    file.write_text(ASKS.replace("[[groups.rules]]", f"{denies}{allows}[[groups.rules]]"), "utf-8")
    session = open_engine(file).session()
    assert session.check("Grep", {"pattern": "x", "path": "."}).effect is Effect.ASK
    parties = [Party(session)]
    recorded = [Recorded(ToolCall("Grep", {"pattern": "x", "path": "."}), parties, "1")]
    decision = session.check("Read", {"file_path": "b/x"}, trace=True)
    found = Flipping(parties, decision, read_document(file), recorded=recorded).flips(Effect.ALLOW)
    edit = next(one for one in found.suggested if one.change.what is What.EDIT)
    assert [(one.before, one.after) for one in edit.first] == [(Effect.ASK, Effect.ALLOW)]


@pytest.mark.parametrize("tool", ["@read", "x*", "@", "*"])
def test_a_tool_whose_name_is_a_pattern_is_opened_by_no_rule(root: Path, tool: str) -> None:
    found = flips(root, ASKS, tool, {"path": "a"})
    assert not found.suggested
    assert any("alone" in why for why in found.cannot)


def test_the_last_rule_is_never_opened_for_one_call(root: Path) -> None:
    for tool, arguments in (("Bash", {"command": "make"}), ("Write", {"file_path": "a*"}), ("f*", {})):
        assert not flips(root, ASKS, tool, arguments).suggested


def test_another_groups_sessions_are_not_touched(root: Path) -> None:
    text = f'{ASKS}[[groups]]\nid = "jobs"\n'
    call = {"file_path": "a"}
    found = flips(root, text, "Write", call, group="jobs", agent="bot", source="cron")
    assert answer(root, found, "Write", call, group="jobs", agent="bot", source="cron") is Effect.ALLOW
    for who in ({}, {"group": "jobs"}, {"agent": "bot"}, {"group": "jobs", "agent": "bot"}):
        assert answer(root, found, "Write", call, **who) is Effect.ASK


def test_the_memory_exception_is_denied_by_a_mandatory_rule_alone(root: Path) -> None:
    call = {"path": "memory/a", "content": "x"}
    found = flips(root, ASKS, "write_file", call, Effect.DENY)
    assert answer(root, found, "write_file", call) is Effect.DENY
    assert "mandatory = true" in found.suggested[0].patch.lines


def test_a_seeded_rule_is_taken_out_by_writing_the_others_down(root: Path) -> None:
    call = {"file_path": "secrets/k"}
    found = flips(root, 'version = 1\nworkspace = "w"\n', "Write", call, Effect.ASK)
    (warning, *_) = found.suggested[0].warnings
    assert "mandatory (one of the built-in rules)" in warning
    assert answer(root, found, "Write", call) is Effect.ASK
    assert answer(root, found, "Read", call) is Effect.DENY


def test_a_broken_file_names_its_line(root: Path) -> None:
    found = flips(root, f"{ASKS}[[groups.rules]]\ntool = 5\n", "Write", {"file_path": "a"})
    assert not found.suggested
    assert [one.since for one in found.objections] == ["mend stanch.toml:9 first"]


def test_a_file_with_several_names_is_warned_of(root: Path) -> None:
    (root / "w" / "a").write_text("x", "utf-8")
    (root / "w" / "b").hardlink_to(root / "w" / "a")
    found = flips(root, ASKS, "Write", {"file_path": "a"})
    assert any("several names" in warning for warning in found.suggested[0].warnings)


def test_inline_lists_and_comments_stay_as_they_are(root: Path) -> None:
    text = (
        'version = 1\nworkspace = "w"\ngroups = [\n  { id = "default", rules = [\n'
        '    # about writing\n    { tool = "@write", action = "deny" }, # behind\n'
        '    { tool = "*", action = "ask" },\n  ] },\n]\n'
    )
    call = {"file_path": "a"}
    found = flips(root, text, "Write", call)
    changed = found.suggested[0].patch.text or ""
    assert "# about writing" in changed
    assert "# behind" in changed
    assert answer(root, found, "Write", call) is Effect.ALLOW
    assert answer(root, found, "Write", {"file_path": "b"}) is Effect.DENY


def test_a_thousand_rules_and_a_thousand_calls_are_looked_through_at_once(root: Path) -> None:
    rules = "".join(
        f'[[groups.rules]]\ntool = "@read"\npath = "d{at % 50}/e{at}"\naction = "deny"\n' for at in range(1000)
    )
    file = root / "stanch.toml"
    file.write_text(ASKS.replace("[[groups.rules]]", f"{rules}[[groups.rules]]"), "utf-8")
    session = open_engine(file).session()
    parties = [Party(session)]
    calls = [ToolCall("Write", {"file_path": f"src/{at}"}) for at in range(1000)]
    recorded = [Recorded(one, parties, str(at)) for at, one in enumerate(calls)]
    decision = session.check("Write", {"file_path": "src/x"}, trace=True)
    began = time.monotonic()
    found = Flipping(parties, decision, read_document(file), recorded=recorded).flips(Effect.ALLOW)
    assert time.monotonic() - began < MANY_SECONDS
    assert (found.suggested[0].change.kind, found.suggested[0].others, found.looked_at) == (Kind.RULE, 0, 1000)


def test_a_policy_that_was_not_reached_stands_in_the_way_all_the_same(root: Path) -> None:
    tier = (
        '[tiers.low]\nlabel = "low"\notherwise = {read = "allow", write = "deny", execute = "deny", network = "deny"}\n'
    )
    text = ASKS.replace('"ask"', '"allow"') + tier + '[models.assignments]\n"m" = "low"\n'
    call = {"file_path": f"{root}/w/a"}
    reached: list[Reach] = []

    def says(request: PolicyRequest) -> Says:
        reached.append(request.approval_reach)
        return Says(Effect.DENY, "never")

    open_to = flips(root, text, "Write", call, model="m")
    assert open_to.suggested
    found = flips(root, text, "Write", call, model="m", policy=says)
    assert not found.suggested
    assert [one.layer for one in found.objections] == [LayerId.TIER, LayerId.CALLER_POLICY]
    assert reached == [Reach.NONE]
