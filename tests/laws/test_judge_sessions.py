"""Law: for whole sessions, too, the judge says what the gate says of the same call, but for what its table lists.

Policies are drawn with groups and tiers, and beside them policies of programs, sessions above, organizations and rows.
Hooks are there and asked by neither; no grant and no bypass is, since neither counts for the judge.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.app.judging import Judge
from stanch.judge.question import Probe
from stanch.values.context import RunContext
from stanch.values.verdict import Face, State
from tests.app.drawn_beside import HEADS, TABLES, besides
from tests.app.drawn_flips import Beside, World, policies, root_of
from tests.laws.test_judge_table import states_for

TOOLS = {Face.READ: "Read", Face.WRITE: "Write"}
PATHS = ["a/x", "a/y", "b/x", "b/deep/x", "a", "."]
NOBODY = RunContext()
WHO: list[dict[str, Any]] = [{}, {"agent": "bot"}, {"group": "jobs"}, {"group": "gone"}, {"model": "m/x"}]
QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return root_of(tmp_path)


def _unrelaxed(beside: Beside) -> Beside:
    """The same, where nothing answers an ask."""
    above = [{key: value for key, value in one.items() if key != "bypasses"} for one in beside.above]
    own = {key: value for key, value in beside.given.items() if key != "bypasses"}
    return Beside(own, tuple(one | {"context": NOBODY} for one in above))


@QUICK
@given(
    # WHY other names: a rule about the built-in tool speaks of a probe as well, and not of every `Read`.
    st.tuples(st.sampled_from(HEADS), policies(), st.sampled_from(TABLES)).map(
        lambda parts: "".join(parts).replace('"read_file"', '"Read"').replace('"write_file"', '"Write"')
    ),
    st.sampled_from(WHO),
    besides().map(_unrelaxed),
)
def test_the_judge_of_a_session_says_what_its_gate_says(
    root: Path, text: str, who: dict[str, Any], beside: Beside
) -> None:
    session = World(root, text, who | {"context": NOBODY}, beside).session()
    probes = [Probe(face, "law", path) for face in Face for path in PATHS]
    for probe, verdict in zip(probes, Judge([session]).batch(probes), strict=True):
        given_ = {"file_path": probe.file_path}
        if probe.face is Face.WRITE:
            given_["content"] = ""
        decision = session.probe(TOOLS[probe.face], given_)
        states = states_for(decision.answer, probe.face)
        assert verdict.state in states, (probe, decision, verdict)
        if len(states) == 1 and verdict.state in (State.DENY, State.MANDATED_ASK):
            assert verdict.reason is not None
            assert (verdict.layer, verdict.reason.rule) == (decision.answer.layer, decision.answer.rule)
