"""Does the suggested change flip the answer when a person applies it, is none smaller, and is what it opens counted?

Small policies and small worlds of calls are drawn; the change is applied as text to the file, and the file read anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.app.engine import Engine, Session
from stanch.app.flipping import Flipping, Flips, Suggested
from stanch.app.loading import open_engine, read_document
from stanch.app.objections import Party
from stanch.app.recorded import Recorded
from stanch.policy.changes import (
    Change,
    GrantChange,
    Owner,
    Paths,
    Reach,
    RuleChange,
    Tools,
    Who,
    changed,
    edited,
    granted,
    quoted,
    reach_of,
    removed,
)
from stanch.values.call import ToolCall
from stanch.values.decision import Effect

CALLS = [
    ("Read", {"file_path": "a/x"}),
    ("Read", {"file_path": "a/y"}),
    ("Read", {"file_path": "b/x"}),
    ("Write", {"file_path": "a/x"}),
    ("Write", {"file_path": "b/deep/x"}),
    ("Edit", {"file_path": "a/x"}),
    ("Bash", {"command": "git push origin"}),
    ("Bash", {"command": "cat a/x"}),
    ("Bash", {"command": "make && make test"}),
    ("Bash", {"command": "sort a/y > b/x"}),
    ("Grep", {"pattern": "x", "path": "."}),
    ("WebFetch", {"url": "https://example.com", "prompt": "x"}),
    ("frobnicate", {"path": "a/x"}),
    ("move_file", {"source": "a/x", "destination": "b/y"}),
]
TOOLS = ["*", "@read", "@write", "@execute", "@network", "Read", "Write", "Bash", "frob*", "read_file", "write_file"]
PATHS = [None, None, "a", "a/x", "/**/x", "b/*", "**"]
COMMANDS = [None, None, None, "git *", "git push origin", "cat *", "make *"]
WORDS = ["allow", "ask", "deny"]


@st.composite
def rules(draw: st.DrawFn) -> str:
    tool = draw(st.sampled_from(TOOLS))
    action = draw(st.sampled_from(WORDS))
    lines = [f"tool = {quoted(tool)}", f'action = "{action}"']
    command = draw(st.sampled_from(COMMANDS)) if tool in ("*", "@execute", "Bash") else None
    path = draw(st.sampled_from(PATHS)) if command is None else None
    lines += [] if path is None else [f"path = {quoted(path)}"]
    lines += [] if command is None else [f"command = {quoted(command)}"]
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"priority = {draw(st.sampled_from([5, 200]))}")
    if action != "allow" and draw(st.integers(0, 5)) == 0:
        lines.append("mandatory = true")
    if draw(st.integers(0, 6)) == 0:
        lines.append('agent = "bot"')
    return "\n".join(["# a rule", "[[groups.rules]]", *lines, ""])


@st.composite
def policies(draw: st.DrawFn) -> str:
    text = 'version = 1\nworkspace = "w"\n'
    if draw(st.integers(0, 5)):
        text += '[[groups]]\nid = "default"\n' + "".join(draw(st.lists(rules(), max_size=4)))
    if draw(st.booleans()):
        text += '[[groups]]\nid = "jobs"\n' + "".join(draw(st.lists(rules(), max_size=3)))
    if draw(st.integers(0, 2)) == 0:
        text += '[sessions.defaults.agent.bot]\nallow_fs_reads = ["b"]\n'
    if draw(st.integers(0, 2)) == 0:
        word = draw(st.sampled_from(WORDS))
        text += (
            '[models]\ndefault_tier = "t"\n[tiers.t]\nlabel = "T"\n'
            f'otherwise = {{ read = "{word}", write = "allow", execute = "allow", network = "allow" }}\n'
            f'cells = [{{ path = "a", read = "{draw(st.sampled_from(WORDS))}" }}]\n'
        )
    return text


class World:
    """A policy file on disk, who asks, and a small universe of calls."""

    def __init__(self, root: Path, text: str, who: dict[str, Any]) -> None:
        self.file = root / "stanch.toml"
        self.file.write_text(text, "utf-8")
        self.who = who
        self.engine = open_engine(self.file)

    def flips(self, call: tuple[str, dict[str, Any]], to: Effect) -> Flips:
        session = self.engine.session(**self.who)
        decision = session.check(*call, trace=True)
        owner = None
        if self.who.get("agent") == "bot":
            owner = Owner("agent", "bot")
        parties = [Party(session)]
        others = [
            Recorded(ToolCall(*one), parties, str(at), shares_context=True)
            for at, one in enumerate(CALLS)
            if one != call
        ]
        return Flipping(parties, decision, read_document(self.file), owner=owner, recorded=others).flips(to)

    def again(self, one: Suggested) -> Session:
        """The session once somebody has applied the change."""
        if one.patch.text is None:
            assert isinstance(one.change, GrantChange)
            session = self.engine.session(**self.who)
            context = granted(session.context.written, one.change)
            return self.engine.session(**self.who, context=context)
        self.file.write_text(one.patch.text, "utf-8")
        engine = open_engine(self.file)
        assert not [problem for problem in engine.policy.problems if not problem.warning], engine.policy.problems
        return engine.session(**self.who)


WHO = st.sampled_from([{}, {"agent": "bot"}, {"group": "jobs"}, {"model": "m/x"}, {"group": "jobs", "model": "m/x"}])
FEW = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a", "b/deep"):
        (tmp_path / "w" / name).mkdir(parents=True)
    for name in ("a/x", "a/y", "b/x"):
        (tmp_path / "w" / name).write_text("x", "utf-8")
    return tmp_path.resolve()


@FEW
@given(policies(), WHO, st.sampled_from(CALLS), st.sampled_from(list(Effect)))
def test_applied_as_text_it_flips_the_answer_and_no_more_others_than_it_says(
    root: Path, text: str, who: dict[str, Any], call: tuple[str, dict[str, Any]], to: Effect
) -> None:
    world = World(root, text, who)
    before = {at: world.engine.session(**who).check(*one).effect for at, one in enumerate(CALLS)}
    for one in world.flips(call, to).suggested:
        after = world.again(one)
        assert after.check(*call).effect is to, (one.change, one.patch)
        changes = [str(at) for at, other in enumerate(CALLS) if after.check(*other).effect is not before[at]]
        others = [at for at in changes if CALLS[int(at)] != call]
        assert len(others) == one.others, (one.change, others)
        assert [two.call.where for two in one.first] == others[:5]


@FEW
@given(policies(), WHO, st.sampled_from(CALLS), st.sampled_from(list(Effect)))
def test_no_smaller_change_does(
    root: Path, text: str, who: dict[str, Any], call: tuple[str, dict[str, Any]], to: Effect
) -> None:
    world = World(root, text, who)
    flips = world.flips(call, to)
    if flips.now is to or any(one.since for one in flips.objections):
        return
    session = world.engine.session(**who)
    best = min(_sizes(world.engine, session, call, to), default=None)
    if best is None:
        return
    assert flips.suggested, f"{best} would have done"
    first = flips.suggested[0]
    assert (first.others, _reach(first.change, session, call)) <= best


def _sizes(
    engine: Engine, session: Session, call: tuple[str, dict[str, Any]], to: Effect
) -> Iterator[tuple[int, Reach]]:
    """How small each change of a rule that is there is that flips the answer, asked without any short cut."""
    before = [session.check(*one).effect for one in CALLS]
    for group in engine.policy.groups.values():
        for rule in group.rules:
            changes = [removed(rule)]
            changes += [
                edited(rule, action)
                for action in Effect
                if action is not rule.action and not (rule.mandatory and action is Effect.ALLOW)
            ]
            for change in changes:
                if to is not Effect.DENY and not _may_open(rule, call):
                    continue
                other = session.under(engine.with_policy(changed(engine.policy, change)))
                if other.check(*call).effect is to:
                    after = [other.check(*one).effect for one in CALLS]
                    count = sum(a is not b for a, b, one in zip(before, after, CALLS, strict=True) if one != call)
                    yield count, _reach(change, session, call)


def _may_open(rule: Any, call: tuple[str, dict[str, Any]]) -> bool:
    """The rules that may be opened for one call's sake: not those that keep every path of several tools closed."""
    tool, arguments = call
    if tool == "frobnicate":
        return bool(rule.tool == tool)
    if "command" in arguments:
        return rule.command is not None or rule.path is not None
    return rule.tool == tool or rule.mandatory or rule.path is not None or rule.command is not None


def _reach(change: Change, session: Session, call: tuple[str, dict[str, Any]]) -> Reach:
    if not isinstance(change, RuleChange):
        return Reach(Paths.EXACT, Tools.ONE, Who.SOME)  # no wider than any rule: only the count is held against others
    stamps = [one.stamp for one in session.stamped(ToolCall(*call)).effects if one.stamp is not None]
    key = stamps[0].key if len(stamps) == 1 else None
    return max(reach_of(one, key, directory=False) for one in (change.before, change.after) if one is not None)
