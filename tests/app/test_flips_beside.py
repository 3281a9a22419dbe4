"""Does a suggestion hold where others have a say beside rules and tiers? Where they object, is it said who does?

Policies, hooks, sessions above, an organization, skills, rows and layers of a program are drawn beside a small policy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.app.beside import Party
from stanch.app.case_organization import organization_of
from stanch.app.flipping import Flipping, Flips
from stanch.app.loading import read_document
from stanch.gate.relax import Bypass
from stanch.policies import PolicyRequest, Rewrite, Says
from stanch.policy.changes import Kind
from stanch.values.call import ToolCall
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.reason import LayerId
from tests.app.drawn_beside import HEADS, ROWS, TABLES, Always, Given, besides
from tests.app.drawn_flips import CALLS, WHO, Beside, World, policies, root_of
from tests.app.every_change import every

UNREAD = "no rule answers for what cannot be known"
HOOK = "a hook is asked when the call is made"
QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
READS, WRITES = ("Read", {"file_path": "a/x"}), ("Write", {"file_path": "a/x"})
CLOSED = """\
version = 1
workspace = "w"
[[groups]]
id = "default"
rules = [
  {tool = "@read", path = "a", action = "deny"},
  {tool = "@write", path = "a", action = "deny"},
  {tool = "*", action = "allow"},
]
"""
OPEN = CLOSED.replace('"deny"', '"allow"')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return root_of(tmp_path)


@QUICK
@given(
    st.builds(
        lambda head, text, tables: head + text + tables, st.sampled_from(HEADS), policies(), st.sampled_from(TABLES)
    ),
    WHO,
    besides(),
    st.sampled_from(CALLS),
    st.sampled_from(list(Effect)),
    st.booleans(),
)
def test_applied_it_flips_whoever_else_has_a_say_and_where_none_is_suggested_none_would(
    root: Path,
    text: str,
    who: dict[str, Any],
    beside: Beside,
    call: tuple[str, dict[str, Any]],
    to: Effect,
    hooks: bool,
) -> None:
    world = World(root, text, who, beside)
    flips = world.flips(call, to, hooks=hooks)
    if flips.now is to:
        return
    for one in flips.suggested:
        after = world.again(one)
        warned = any(HOOK in warning for warning in one.warnings)
        assert after.check(*call, hooks=not warned).effect is to, (one.change, beside)
        world.file.write_text(text, "utf-8")
    if flips.suggested or any(one.since == UNREAD for one in flips.objections):
        return
    session = world.session()
    for change, _ in every(session, session.stamped(ToolCall(*call)), to, world.owner):
        assert world.changed(change).check(*call, hooks=hooks).effect is not to, (change, beside, flips.objections)


# --- one after the other ----------------------------------------------------------------------------------------------


def asked(root: Path, text: str, to: Effect = Effect.ALLOW, **given: Any) -> Flips:
    above = given.pop("above", ())
    return World(root, text, {}, Beside(given, above)).flips(READS, to)


@pytest.mark.parametrize(
    ("given", "layer", "since"),
    [
        ({"policy": Always("deny", "*")}, LayerId.CALLER_POLICY, "it is the application's own policy"),
        ({"policy": Always("ask", "*")}, LayerId.CALLER_POLICY, "it is the application's own policy"),
        ({"policy": Always("breaks", "*")}, LayerId.CALLER_POLICY, "it is the application's own policy"),
        (
            {"above": ({"policy": Always("deny", "*")},)},
            LayerId.INHERITED_CONSTRAINT,
            "it is the policy of a session above this one",
        ),
        (
            {"narrowing": [{"tool": "Read", "action": "deny"}]},
            LayerId.NARROWING,
            "a row that narrows holds whatever the rules allow",
        ),
        (
            {"layers": [Given(LayerId.TIER, Effect.DENY, mandated=False, immediate=False)]},
            LayerId.TIER,
            "it is a layer of the application's own",
        ),
    ],
)
def test_who_objects_is_named_with_why_nothing_here_changes_it(
    root: Path, given: dict[str, Any], layer: LayerId, since: str
) -> None:
    found = asked(root, CLOSED, **given)
    assert not found.suggested
    assert (layer, since) in [(one.layer, one.since) for one in found.objections]
    assert LayerId.PERSISTED_RULES in [one.layer for one in found.objections]


def test_what_another_layer_of_the_same_id_said_is_not_taken_for_a_layers_own(root: Path) -> None:
    denies = Given(LayerId.TIER, Effect.DENY, mandated=False, immediate=False)
    tier = (
        '[models]\ndefault_tier = "t"\n[tiers.t]\nlabel = "T"\n'
        'otherwise = { read = "deny", write = "allow", execute = "allow", network = "allow" }\n'
    )
    closed = World(root, OPEN + tier, {"model": "m/x"}, Beside({"layers": [denies]}))
    assert not closed.flips(READS, Effect.ALLOW).suggested
    assert World(root, OPEN + tier, {"model": "m/x"}).flips(READS, Effect.ALLOW).suggested


def test_what_the_layer_of_a_session_above_says_is_not_taken_for_the_sessions_own(root: Path) -> None:
    silent = Given(LayerId.CALLER_POLICY, None, mandated=False, immediate=False)
    denies = Given(LayerId.CALLER_POLICY, Effect.DENY, mandated=False, immediate=False)
    for own, other in ((silent, denies), (denies, silent)):
        found = asked(root, CLOSED, layers=[own], above=({"layers": [other]},))
        assert not found.suggested
        assert [one.layer for one in found.objections] == [LayerId.CALLER_POLICY, LayerId.PERSISTED_RULES]
    assert asked(root, CLOSED, layers=[silent], above=({"layers": [silent]},)).suggested


def test_a_grant_answers_the_ordinary_ask_of_a_row(root: Path) -> None:
    world = World(root, OPEN, {"context": RunContext()}, Beside({"narrowing": [ROWS[0]]}))
    (found,) = world.flips(WRITES, Effect.ALLOW).suggested
    assert found.change.kind is Kind.GRANT
    assert world.again(found).check(*WRITES).effect is Effect.ALLOW
    held = World(root, OPEN, {}, Beside({"narrowing": [{"tool": "*", "action": "ask", "real_approval": True}]}))
    assert not held.flips(WRITES, Effect.ALLOW).suggested


def test_what_a_bypass_answers_is_in_nobodys_way(root: Path) -> None:
    rule = '  {tool = "*", command = "git push *", action = "deny"},\n'
    text = CLOSED.replace("rules = [\n", f"rules = [\n{rule}")
    for call in (READS, ("Bash", {"command": "git push origin"})):
        world = World(root, text, {}, Beside({"narrowing": [ROWS[0]], "bypasses": (Bypass(everything=True),)}))
        (found, *_) = world.flips(call, Effect.ALLOW).suggested
        assert world.again(found).check(*call).effect is Effect.ALLOW


@pytest.mark.parametrize("word", ["breaks", "ask"])
def test_whoever_asks_or_is_silent_is_counted_where_an_ask_is_wanted(root: Path, word: str) -> None:
    world = World(root, CLOSED, {}, Beside({"policy": Always(word, "*")}))
    found = world.flips(READS, Effect.ASK).suggested
    assert found
    for one in found:
        assert world.again(one).check(*READS).effect is Effect.ASK
        world.file.write_text(CLOSED, "utf-8")
    assert any(one.change.kind is Kind.RULE and one.change.what.value == "remove" for one in found)
    strict = 'on_layer_failure = "deny"\n' + CLOSED
    assert bool(asked(root, strict, Effect.ASK, policy=Always(word, "*")).suggested) is (word == "ask")


def test_an_organization_that_is_away_is_counted_as_the_policy_says(root: Path) -> None:
    away: dict[str, Any] = {"organization": organization_of({"state": "unavailable"})}
    assert not asked(root, CLOSED, **away).suggested
    (found, *_) = asked(root, CLOSED, Effect.ASK, **away).suggested
    assert World(root, CLOSED, {}, Beside(away)).again(found).check(*READS).effect is Effect.ASK


def test_a_policy_that_would_change_the_arguments_stands_in_the_way(root: Path) -> None:
    def elsewhere(request: PolicyRequest) -> Any:
        return None if request.arguments["file_path"] == "b/x" else Rewrite({"file_path": "b/x"})

    tier = Given(LayerId.NARROWING, Effect.DENY, mandated=False, immediate=True)
    found = asked(root, OPEN, policy=elsewhere, layers=[tier])
    assert any("it wants other arguments" in one.said for one in found.objections)


def test_what_was_said_before_a_rewrite_is_over(root: Path) -> None:
    def about(request: PolicyRequest) -> Any:
        return Says(Effect.ASK, "what is in b?") if request.arguments["file_path"] == "b/x" else None

    def once(request: PolicyRequest) -> Any:
        return Rewrite({"file_path": "a/x"}) if request.arguments["file_path"] == "b/x" else None

    world = World(root, CLOSED, {}, Beside({"policy": [about, once]}))
    (found, *_) = world.flips(("Read", {"file_path": "b/x"}), Effect.ALLOW).suggested
    assert world.again(found).check("Read", {"file_path": "b/x"}).effect is Effect.ALLOW


@pytest.mark.parametrize("hooks", [True, False])
@pytest.mark.parametrize("word", ["nothing", "deny"])
def test_a_hook_that_was_not_asked_is_warned_of_and_not_asked_for_it(root: Path, word: str, hooks: bool) -> None:
    heard: list[str] = []

    def hook(request: PolicyRequest) -> Any:
        heard.append(request.tool)
        return None if word == "nothing" else Says(Effect.DENY, "never")

    beside = Beside({"hooks": [hook]})
    found = World(root, CLOSED, {}, beside).flips(READS, Effect.ALLOW, hooks=hooks)
    assert heard == []
    assert found.suggested
    assert all(any(HOOK in warning for warning in one.warnings) for one in found.suggested)
    closing = World(root, OPEN, {}, beside).flips(READS, Effect.DENY, hooks=False)
    assert closing.suggested
    assert all(not one.warnings for one in closing.suggested)


@pytest.mark.parametrize(("word", "suggested"), [("nothing", True), ("deny", False), ("ask", False)])
def test_a_hook_that_objected_stands_in_the_way_and_a_silent_one_is_not_warned_of(
    root: Path, word: str, suggested: bool
) -> None:
    asks = OPEN.replace('"allow"}', '"ask"}')
    found = World(root, asks, {}, Beside({"hooks": [Always(word, "*")]})).flips(WRITES, Effect.ALLOW)
    assert bool(found.suggested) is suggested
    assert all(not one.warnings for one in found.suggested)
    assert ("a hook is a program of its own" in [one.since for one in found.objections]) is not suggested


def test_a_policy_that_was_heard_is_not_asked_again(root: Path) -> None:
    heard: list[str] = []

    def policy(request: PolicyRequest) -> Any:
        heard.append(request.tool)

    world = World(root, CLOSED, {}, Beside({"policy": [policy]}))
    assert world.flips(READS, Effect.ALLOW).suggested
    assert heard == ["Read"]
    session = world.session()
    untraced = session.check(*READS)
    assert Flipping([Party(session)], untraced, read_document(world.file)).flips(Effect.ALLOW).suggested
    assert heard == ["Read"] * 3
