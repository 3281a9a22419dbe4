"""Does the suggested change flip the answer when a person applies it, is none smaller, and is what it opens counted?

Small policies and small worlds of calls are drawn; the change is applied as text to the file, and the file read anew.
That none is smaller is held against every single change there is, each made and asked about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.app.flipping import Flips
from stanch.policy.changes import Reach, What
from stanch.values.call import ToolCall
from stanch.values.decision import Effect
from tests.app.drawn_flips import CALLS, WHO, World, policies, root_of
from tests.app.every_change import Made, every

Size = tuple[int, tuple[Reach, int]]
UNREAD = "no rule answers for what cannot be known"
FEW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FEWER = settings(FEW, max_examples=150)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return root_of(tmp_path)


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


@FEWER
@given(policies(), WHO, st.sampled_from(CALLS), st.sampled_from(list(Effect)))
def test_of_every_change_there_is_no_smaller_one_does_and_where_none_is_suggested_none_does(
    root: Path, text: str, who: dict[str, Any], call: tuple[str, dict[str, Any]], to: Effect
) -> None:
    world = World(root, text, who)
    flips = world.flips(call, to)
    if flips.now is to:
        assert not flips.suggested
        return
    session = world.session()
    changes = [*every(session, session.stamped(ToolCall(*call)), to, world.owner)]
    smallest = min(_sizes(world, changes, call, to), default=None)
    if any(one.since == UNREAD for one in flips.objections):
        assert not flips.suggested  # whatever would be opened, it would be for what nobody knows
    elif smallest is None:
        assert not flips.suggested
    else:
        assert flips.suggested, f"{smallest} would have done"
        assert _size_of(flips, changes) <= smallest


def _sizes(world: World, changes: list[Made], call: tuple[str, dict[str, Any]], to: Effect) -> list[Size]:
    """How small each change is that flips the answer, asked without any short cut."""
    before = [world.session().check(*one).effect for one in CALLS]
    found = []
    for change, order in changes:
        session = world.changed(change)
        if session.check(*call).effect is to:
            after = [session.check(*one).effect for one in CALLS]
            count = sum(a is not b for a, b, one in zip(before, after, CALLS, strict=True) if one != call)
            found.append((count, order))
    return found


def _size_of(flips: Flips, changes: list[Made]) -> Size:
    """How small the first suggestion is, by the same measure; it is one of those that there are."""
    first = flips.suggested[0]
    (order,) = {made.order for made in changes if made.change == first.change}
    return first.others, order


def test_a_rule_that_would_speak_only_once_it_closes_is_tried(root: Path) -> None:
    text = (
        'version = 1\nworkspace = "w"\n[[groups]]\nid = "default"\n'
        '[[groups.rules]]\ntool = "write_file"\npath = "a/x"\naction = "allow"\n'
    )
    world = World(root, text, {"group": "gone"})
    (found,) = world.flips(("Write", {"file_path": "a/x"}), Effect.DENY).suggested
    assert found.change.what is What.EDIT
    assert world.again(found).check("Write", {"file_path": "a/x"}).effect is Effect.DENY
