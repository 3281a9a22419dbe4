"""Law: rows that narrow say together the strictest of what each says, in any order, and never open anything."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import stanch
from stanch.app.engine import Engine
from stanch.values.decision import Decision

POLICY = """\
version = 1
workspace = "."
[[groups]]
id = "default"
[[groups.rules]]
tool = "@write"
path = "closed"
action = "deny"
[[groups.rules]]
tool = "@write"
path = "asked"
action = "ask"
[[groups.rules]]
tool = "*"
action = "allow"
[[skills]]
id = "one"
rules = [{tool = "@write", path = "sub"}, {tool = "*", command = "make *"}]
[[skills]]
id = "two"
rules = [{tool = "write_file", path = "asked"}, {tool = "run_code"}]
"""
ROWS = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(
            ("*", "*", "*", "@read", "@write", "@execute", "write_file", "read_file", "execute_cmd")
        ),
        "action": st.sampled_from(("ask", "deny")),
    },
    optional={
        "path": st.sampled_from(("sub", "sub", "sub/deep", "**/*.txt", "closed")),
        "command": st.sampled_from(("make", "git push *", "cat *")),
        "real_approval": st.just(True),
    },
).map(lambda row: row if row["action"] == "ask" else {k: v for k, v in row.items() if k != "real_approval"})
CALLS = st.one_of(
    st.tuples(
        st.sampled_from(("write_file", "read_file", "Grep")),
        st.sampled_from(("sub/a.txt", "sub/deep/b", "closed/a", "asked/a", "c.txt", "sub", ".")),
    ).map(lambda drawn: (drawn[0], {"path": drawn[1], "content": "x", "pattern": "x"})),
    st.sampled_from(("make all", "cat sub/a.txt", "cd sub && git push", "echo x > sub/a.txt", "$X y", "ls")).map(
        lambda command: ("execute_cmd", {"command": command})
    ),
    st.just(("run_code", {"code": "print()"})),
)
QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    root: Path = tmp_path_factory.mktemp("rows")
    for name in ("sub/a.txt", "sub/deep/b", "closed/a", "asked/a", "c.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", "utf-8")
    (root / "stanch.toml").write_text(POLICY, "utf-8")
    return stanch.open(root / "stanch.toml")


def strength(engine: Engine, call: tuple[str, dict[str, Any]], **given: Any) -> int:
    decision: Decision = engine.session(**given).probe(*call)
    return decision.answer.strength


ASK, DENY = {"tool": "*", "action": "ask"}, {"tool": "@write", "path": "sub", "action": "deny"}


@QUICK
@given(st.lists(ROWS, max_size=4), CALLS, st.randoms(use_true_random=False))
@example([ASK, DENY], ("write_file", {"path": "sub/a.txt", "content": "x"}), Random(0))
def test_rows_together_are_the_strictest_of_each(
    engine: Engine, rows: list[dict[str, Any]], call: tuple[str, dict[str, Any]], random: Any
) -> None:
    each = [strength(engine, call), *(strength(engine, call, narrowing=[row]) for row in rows)]
    together = strength(engine, call, narrowing=rows)
    assert together == max(each)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert strength(engine, call, narrowing=shuffled) == together


@QUICK
@given(st.lists(ROWS, max_size=3), CALLS, st.sets(st.sampled_from(("one", "two"))))
def test_no_row_and_no_skill_opens_anything(
    engine: Engine, rows: list[dict[str, Any]], call: tuple[str, dict[str, Any]], skills: set[str]
) -> None:
    plain = strength(engine, call)
    assert strength(engine, call, narrowing=rows) >= plain
    assert strength(engine, call, skills=sorted(skills)) == max(
        [plain, *(strength(engine, call, skills=[one]) for one in skills)]
    )


@QUICK
@given(st.lists(ROWS, max_size=3), CALLS)
def test_what_asks_a_session_asks_a_person_of_those_below_it(
    engine: Engine, rows: list[dict[str, Any]], call: tuple[str, dict[str, Any]]
) -> None:
    own = engine.session(narrowing=rows)
    below = engine.session(under=own).probe(*call).answer
    answer = own.probe(*call).answer
    mandated = 2 if answer.layer.value == "narrowing" and answer.strength else 0
    assert below.strength >= max(answer.strength, mandated)
