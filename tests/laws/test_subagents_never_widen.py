"""Law: a subagent may do what it may do itself and every session above it may, and nothing else.

What each session above says is asked of a twin of it that stands alone, so that nothing of how lines are gone through
is taken for granted.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stanch
from stanch.app.bypassing import BypassWish
from stanch.app.searching import SearchReader
from stanch.app.service import Service
from stanch.values.approval import BypassScope
from stanch.values.call import Category
from stanch.values.context import RunContext
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind, Source
from stanch.values.records import Actor

BY = Actor("ada", "test")
AGENT = Principal(PrincipalKind.DELEGATED, "ada", COPILOT_SERVICE)
GROUPS = ("default", "one", "two")
AGENTS = ("bob", "eve")
MODELS = (None, None, "fake/plain", "fake/plain", "fake/blind", "fake/asked", "fake/shut")
PATHS = ("a.txt", "sub/a.txt", "sub/deep/b.txt", "secrets/key", "link/c.txt", "new/x.txt", ".")
DIRECTORIES = (None, "sub", "sub/deep", "link")
GRANTS = ("sub", "sub/deep", "a.txt", "elsewhere", ".")
COMMANDS = (
    "cat {}", "rm {}", "echo x > {}", "cd sub && cat a.txt", "grep -r x {}", "cp a.txt {}", "make", "echo hi",
)  # fmt: skip
HEAD = """version = 1
workspace = "."
[models]
default_tier = "trusted"
[models.assignments]
"fake/blind" = "blind"
"fake/asked" = "asked"
"fake/shut" = "shut"
[tiers.blind]
label = "Blind"
otherwise = {read = "allow", write = "allow", execute = "allow", network = "allow"}
cells = [{path = "sub", read = "deny"}]
[tiers.asked]
label = "Asked"
otherwise = {read = "allow", write = "ask", execute = "allow", network = "allow"}
cells = [{path = "sub/deep", read = "ask"}]
[tiers.shut]
label = "Shut"
otherwise = {read = "deny", write = "deny", execute = "deny", network = "deny"}
cells = []
"""


@dataclass(frozen=True, slots=True)
class One:
    """A session of a line. `bypasses` are given in it, each with whether it holds below, too."""

    agent: str
    source: Source
    model: str | None
    context: RunContext
    bypasses: tuple[tuple[Category | None, bool], ...]


@st.composite
def rules(draw: st.DrawFn) -> str:
    """One rule of a group, as a policy file has it."""
    said = {"action": draw(st.sampled_from(["allow", "allow", "ask", "ask", "deny"]))}
    said["tool"] = draw(st.sampled_from(["@read", "@write", "@execute", "*", "read_file", "execute_cmd", "grep_files"]))
    if said["tool"] == "execute_cmd" and draw(st.booleans()):
        said["command"] = draw(st.sampled_from(["cat *", "rm *", "echo *", "grep *", "make"]))
    elif said["tool"] != "execute_cmd" and draw(st.booleans()):
        said["path"] = draw(st.sampled_from(["sub", "*.txt", "**/deep/**", "a.txt", "elsewhere", "**"]))
    for key, among in (("agent", AGENTS), ("source", ("cli", "cron"))):
        if draw(st.integers(0, 5)) == 0:
            said[key] = draw(st.sampled_from(among))
    if said["action"] != "allow" and draw(st.integers(0, 4)) == 0:
        return _written(said) + "mandatory = true\n"
    return _written(said)


def _written(rule: dict[str, str]) -> str:
    return "[[groups.rules]]\n" + "".join(f'{key} = "{word}"\n' for key, word in rule.items())


GROUP_RULES = st.lists(rules(), max_size=4).map("".join)
BYPASSES = st.lists(
    st.tuples(st.sampled_from([None, None, Category.FILESYSTEM, Category.SHELL]), st.booleans()), max_size=1
).map(tuple)
CONTEXTS = st.builds(
    RunContext,
    st.sampled_from([None, *GROUPS]),
    allow_fs_writes=st.lists(st.sampled_from(GRANTS), max_size=1).map(tuple),
    allow_fs_reads=st.lists(st.sampled_from(GRANTS), max_size=1).map(tuple),
    working_directory=st.sampled_from(DIRECTORIES),
)
ONES = st.builds(
    One,
    st.sampled_from(AGENTS),
    st.sampled_from([Source.CLI, Source.CRON]),
    st.sampled_from(MODELS),
    CONTEXTS,
    BYPASSES,
)
CALLS = st.one_of(
    st.tuples(st.sampled_from(["read_file", "list_files"]), st.builds(lambda p: {"path": p}, st.sampled_from(PATHS))),
    st.builds(lambda p: ("write_file", {"path": p, "content": "x"}), st.sampled_from(PATHS)),
    st.builds(lambda p: ("grep_files", {"path": p, "pattern": "x"}), st.sampled_from(PATHS)),
    st.builds(
        lambda c, p: ("execute_cmd", {"command": c.format(p)}), st.sampled_from(COMMANDS), st.sampled_from(PATHS)
    ),
    st.just(("nobody_knows", {"thing": "sub/a.txt"})),
)


class Place:
    """A workspace, and a service on it whose policy is another one for each example."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "w"
        for name in ("a.txt", "sub/a.txt", "sub/deep/b.txt", "secrets/key", "elsewhere/c.txt"):
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        (self.workspace / "link").symlink_to("elsewhere")
        self.policy = self.workspace / "stanch.toml"
        self.write(["", "", ""])
        self.embedded = stanch.embed(self.policy, store=root / "stanch.db")
        self.service: Service = self.embedded.service

    def write(self, groups: Sequence[str]) -> None:
        """Another policy from now on."""
        tables = (f'[[groups]]\nid = "{name}"\n{said}' for name, said in zip(GROUPS, groups, strict=True))
        self.policy.write_text(HEAD + "\n".join(tables))

    def open(self, one: One, parent: str | None, bypasses: Sequence[tuple[Category | None, bool]]) -> str:
        """A session like this."""
        made = self.service.sessions.create(
            agent_id=one.agent,
            source=one.source,
            principal=AGENT,
            parent_id=parent,
            model=one.model,
            context=one.context,
            by=BY,
        )
        for category, shared in bypasses:
            scope = BypassScope.ALL if category is None else BypassScope.CATEGORY
            self.service.bypasses.give(
                made.id, BypassWish(0, scope, shared), category=category, server=None, by=BY
            )  # fmt: skip
        return made.id

    def strength(self, session: str, tool: str, arguments: dict[str, Any], cwd: str | None) -> int:
        """How strict the answer is: an allow, an ask that a grant may answer, a mandated one, a deny."""
        return self.service.check(session, tool, arguments, cwd=cwd).decision.answer.strength


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The place of all examples."""
    made = Place(tmp_path_factory.mktemp("line").resolve())
    yield made
    made.embedded.close()


# WHY so few: each example makes some ten sessions in a store, and asks about as many calls of each.
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(GROUP_RULES, GROUP_RULES, GROUP_RULES),
    st.lists(ONES, min_size=2, max_size=4),
    st.lists(CALLS, min_size=6, max_size=10),
    st.sampled_from([None, "deep", "..", "sub"]),
)
def test_a_call_of_a_subagent_is_answered_as_the_strictest_of_its_line(
    place: Place,
    groups: tuple[str, str, str],
    line: list[One],
    calls: list[tuple[str, dict[str, Any]]],
    moved: str | None,
) -> None:
    place.write(groups)
    place.service.refresh()
    assert place.service.policy.broken is None
    sessions: list[str] = []
    for one in line:
        sessions.append(place.open(one, sessions[-1] if sessions else None, one.bypasses))
    own, above = line[-1], line[:-1]
    # What a person said of this very session, or ticked for those below one.
    held = [*own.bypasses, *itertools.chain(*([b for b in one.bypasses if b[1]] for one in above))]
    alone = [place.open(one, None, held) for one in line]
    start = str(place.workspace / (own.context.working_directory or ""))
    start = os.path.realpath(start if moved is None else os.path.join(start, moved))
    for tool, arguments in calls:
        got = place.strength(sessions[-1], tool, arguments, moved)
        each = [place.strength(twin, tool, arguments, start) for twin in alone]
        assert got == max(each), (tool, arguments)
        for at in range(len(line) - 1):
            if not own.bypasses and not any(shared for one in line[at + 1 : -1] for _, shared in one.bypasses):
                assert got >= place.strength(sessions[at], tool, arguments, start), (tool, arguments)
    _look_at_searches(place, sessions[-1], alone, start)


def _look_at_searches(place: Place, session: str, alone: Sequence[str], start: str) -> None:
    """A search comes to the files that each of the line would come to, and opens them as what they are."""
    lineage = place.service._asking.lineage
    for tool in ("grep_files", "list_files"):
        below = SearchReader(tool, lineage(session), start, ())
        each = [SearchReader(tool, lineage(twin), start, ()) for twin in alone]
        for name in PATHS:
            path = os.path.realpath(place.workspace / name)
            found = below(path)
            assert (found is not None) == all(reader(path) is not None for reader in each), (tool, name)
            assert found is None or found.path == path
