"""Law: the judge says what the gate's own layers say, but for the differences that a table here lists: all there are.

Stacks of layers are drawn that answer, break, rewrite, say that nobody can be asked, or that nothing can be read. What
the judge makes of a stack is held against what the gate makes of each of its layers alone, and of all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from stanch.app.driving import drive
from stanch.judge.judge import HUNG, Judgment, Panel
from stanch.policy.layers import MANDATING, NO_OBJECTION, Failed, LayerAnswer, Rewrite
from stanch.policy.walk import THREW
from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause, Face, State, Verdict

LAYERS = [
    LayerId.SKILL_ROWS, LayerId.NARROWING, LayerId.TIER, LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT,
    LayerId.PERSISTED_RULES, LayerId.ORG_RULES,
]  # fmt: skip
POLICIES = (LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT)
SEATS = (Code.NO_APPROVER, Code.APPROVAL_EXPIRED, Code.CANCELLED)

# --- the table: where the gate hears an answer, and the judge that there is none --------------------------------------

SILENCES: dict[tuple[LayerId, Code], Cause] = {
    **{(layer, code): Cause.APPROVAL_SEAT for layer in POLICIES for code in SEATS},
    (LayerId.TIER, Code.POLICY_INVALID): Cause.STORE_UNREADABLE,
    (LayerId.PERSISTED_RULES, Code.STORE_UNREADABLE): Cause.STORE_UNREADABLE,
    (LayerId.PERSISTED_RULES, Code.CALL_UNREADABLE): Cause.CALL_UNREADABLE,
}
"""What the gate takes for a deny or an ask, and is no answer: by layer and code."""
FAULTS: dict[tuple[LayerId, Cause], Cause] = {
    (LayerId.PERSISTED_RULES, Cause.THREW): Cause.STORE_UNREADABLE,
    (LayerId.PERSISTED_RULES, Cause.TIMED_OUT): Cause.STORE_UNREADABLE,
    (LayerId.ORG_RULES, Cause.THREW): Cause.ORG_UNAVAILABLE,
    (LayerId.ORG_RULES, Cause.TIMED_OUT): Cause.ORG_UNAVAILABLE,
}
"""The cause of a layer that failed, where it is not the failure's own."""
HELD = {Face.READ: State.MANDATED_ASK, Face.WRITE: State.ASK}
WEIGHT = {State.NO_OBJECTION: 0, State.UNANSWERABLE: 1, State.MANDATED_ASK: 2, State.ASK: 2, State.DENY: 3}


class Meant(NamedTuple):
    """What one layer's reply amounts to on a face."""

    state: State
    layer: LayerId
    cause: Cause | None = None
    answer: Answer | None = None


def meant(layer: Replying, face: Face, count: int) -> Meant:
    """What the table makes of the gate's reading of one layer alone."""
    failed = layer.failure
    _, standing = drive(call(count), (layer,), Effect.ASK)
    said = [one for one in standing if one is not None and one.code is not Code.LAYER_FAILED]
    heard = [one for one in said if (layer.id, one.code) not in SILENCES]
    denies = [one for one in heard if one.effect is Effect.DENY]
    asks = [one for one in heard if one.effect is Effect.ASK and (face is Face.WRITE or one.mandated)]
    if failed is not None:
        assert not said, "a layer that gave no answer has none"
        return Meant(State.UNANSWERABLE, layer.id, FAULTS.get((layer.id, failed), failed))
    if denies:
        return Meant(State.DENY, layer.id, None, denies[0])
    if asks:
        return Meant(HELD[face], layer.id, None, asks[0])
    for one in said:
        if one not in heard:
            return Meant(State.UNANSWERABLE, layer.id, SILENCES[layer.id, one.code])
    return Meant(State.NO_OBJECTION, layer.id)


def strongest(all_: Sequence[Meant]) -> Meant:
    """A deny, then an ask that is held, then a layer without an answer; of equals the first."""
    return max(all_, key=lambda one: WEIGHT[one.state])


# --- layers that are drawn --------------------------------------------------------------------------------------------


def call(count: int) -> JudgedCall:
    """A call with so many effects."""
    effects = [CallEffect(EffectClass.READ, "", Stamp(f"/w/{at}", f"/w/{at}", f"/w/{at}")) for at in range(count)]
    return JudgedCall(ToolCall("Read", {}), tuple(effects))


@dataclass(frozen=True, slots=True)
class Replying:
    """A layer with one reply; None for one that raises."""

    id: LayerId
    reply: Any
    immediate: bool

    def ask(self, _: JudgedCall) -> LayerAnswer:
        """The reply."""
        if self.reply is None:
            raise RuntimeError("broken on purpose")
        answer: LayerAnswer = self.reply
        return answer

    @property
    def failure(self) -> Cause | None:
        """Why it gave no answer, where it gave none at all."""
        if isinstance(self.reply, Failed):
            return self.reply.kind
        if isinstance(self.reply, Rewrite):
            return Cause.REWRITTEN
        fine = self.reply is NO_OBJECTION or isinstance(self.reply, list)
        return None if fine else Cause.THREW


def answers(layer: LayerId) -> st.SearchStrategy[Answer | None]:
    """One layer's word on one effect, its silences among them."""
    silences = [code for one, code in SILENCES if one is layer]
    others = [code for code in {code for _, code in SILENCES} if code not in silences]
    plain = st.builds(
        lambda effect, code, mandated: Answer(effect, code, layer, None, mandated and effect is Effect.ASK),
        st.sampled_from(Effect),
        st.sampled_from([Code.RULE, Code.POLICY_SAYS, Code.GROUP_MISSING, Code.NO_MATCH, *others]),
        st.booleans(),
    )
    if not silences:
        return st.none() | plain
    effects = [Effect.DENY] if layer in POLICIES or layer is LayerId.TIER else [Effect.DENY, Effect.ASK]
    silent = st.builds(
        lambda effect, code: Answer(effect, code, layer, None, effect is Effect.ASK),
        st.sampled_from(effects),
        st.sampled_from(silences),
    )
    return st.none() | plain | silent


def replies(layer: LayerId, count: int) -> st.SearchStrategy[Any]:
    """One layer's reply: answers most of the time, else what is none."""
    said = st.lists(answers(layer), min_size=count, max_size=count)
    kinds = [kind for kind in Cause if layer is LayerId.ORG_RULES or kind is not Cause.ORG_UNAVAILABLE]
    failed = st.builds(Failed, st.just("no"), st.sampled_from(kinds))
    other = next(one for one in LayerId if one is not layer)
    codes = [Code.RULE, *(code for one, code in SILENCES if one is layer)]
    # WHY tuples: `failure` takes a list for answers that can be read.
    too_many = [(Answer(Effect.DENY, code, layer),) * (count + 1) for code in codes]
    nonsense = st.sampled_from([None, True, "allow", (), object(), Effect.ALLOW, *too_many])
    stranger = st.sampled_from([(Answer(Effect.DENY, code, other),) * count for code in codes])
    return st.one_of(
        said, said, said, said, st.just(NO_OBJECTION), failed, st.just(Rewrite({"file_path": "x"})), nonsense, stranger
    )


@st.composite
def stacks(draw: st.DrawFn) -> tuple[list[Replying], int]:
    """A stack of layers in any order, and a number of effects."""
    count = draw(st.integers(1, 3))
    chosen = draw(st.sets(st.sampled_from(LAYERS), min_size=1))
    return [Replying(layer, draw(replies(layer, count)), draw(st.booleans())) for layer in chosen], count


def judged(layers: Sequence[Replying], face: Face, count: int, after: int = 99, *, hangs: bool = False) -> Verdict:
    """The verdict of a judgment whose time is over after so many foreign layers, the last of which may hang."""
    asked: list[Any] = []
    run = Judgment(call(count), Panel(face, layers), lambda: len(asked) >= after)
    then = run.begin()
    while not isinstance(then, Verdict):
        asked.append(then)
        try:
            reply = then.ask(call(count))
        except RuntimeError:
            reply = THREW
        then = run.go_on(HUNG if hangs and len(asked) >= after else reply)
    return then


def in_order(layers: Sequence[Replying]) -> list[Replying]:
    return sorted(layers, key=lambda layer: LAYERS.index(layer.id))


def same(got: Verdict, wanted: Meant, count: int) -> None:
    """The verdict is exactly this one."""
    assert got.state is wanted.state
    assert got.cause is wanted.cause
    if wanted.state is State.NO_OBJECTION:
        assert (got.layer, got.reason, got.judged) == (None, None, "/w/0")
        return
    assert got.layer is wanted.layer
    assert got.judged == (None if wanted.state is State.UNANSWERABLE else "/w/0")
    assert got.reason is not None
    assert got.reason.code is (Code.LAYER_FAILED if wanted.answer is None else wanted.answer.code)


MANY = settings(max_examples=300, deadline=None)


@MANY
@given(stacks(), st.sampled_from(Face))
def test_it_says_of_each_layer_what_the_table_makes_of_the_gates_answer(
    stack: tuple[list[Replying], int], face: Face
) -> None:
    layers, count = stack
    same(judged(layers, face, count), strongest([meant(one, face, count) for one in in_order(layers)]), count)


@MANY
@given(stacks(), st.sampled_from(Face), st.sampled_from([Effect.ASK, Effect.DENY]))
def test_whatever_else_differs_from_the_gates_own_decision_is_wrong(
    stack: tuple[list[Replying], int], face: Face, on_failure: Effect
) -> None:
    layers, count = stack
    got = judged(layers, face, count)
    _, standing = drive(call(count), tuple(in_order(layers)), on_failure)
    said = max((one for one in standing if one is not None), key=lambda one: one.strength, default=None)
    assert got.state in states_for(said, face)


def states_for(said: Answer | None, face: Face) -> set[State]:
    """What a judge may say where the gate's layers say this, nothing being relaxed: one thing, but for silences."""
    if said is None or said.effect is Effect.ALLOW:
        return {State.NO_OBJECTION}
    if said.code is Code.LAYER_FAILED or (said.layer, said.code) in SILENCES:
        # A fault, or a silence that looks like an answer, is a state of its own, unless somebody else has more to say.
        return {State.UNANSWERABLE, HELD[face], State.DENY}
    if said.effect is Effect.DENY:
        return {State.DENY}
    if said.mandated:
        return {HELD[face]}
    # An ordinary ask is answered by the one who is asking, and held where nobody is there.
    return {State.ASK if face is Face.WRITE else State.NO_OBJECTION}


@MANY
@given(stacks(), st.sampled_from(Face), st.integers(0, 6), st.booleans())
def test_a_spent_budget_only_ever_moves_an_answer_to_unanswerable(
    stack: tuple[list[Replying], int], face: Face, after: int, hangs: bool
) -> None:
    layers, count = stack
    ordered = in_order(layers)
    got = judged(layers, face, count, after, hangs=hangs)
    asked = 0
    expected: list[Meant] = []
    over = after == 0
    for layer in ordered:
        whole = meant(layer, face, count)
        if over:
            whole = Meant(State.UNANSWERABLE, layer.id, Cause.TIMED_OUT)
        elif not layer.immediate:
            asked += 1
            over = asked >= after
            if over and hangs:
                hung = Cause.STORE_UNREADABLE if layer.id is LayerId.PERSISTED_RULES else Cause.TIMED_OUT
                whole = Meant(State.UNANSWERABLE, layer.id, hung)
        expected.append(whole)
        if whole.state is State.DENY:
            break
    same(got, strongest(expected), count)


def test_the_table_of_layers_is_that_of_the_gate() -> None:
    assert {layer for layer in LAYERS if layer in MANDATING} == MANDATING - {LayerId.HOOKS}
    assert {(layer, code) for layer, code in SILENCES if layer not in LAYERS} == set()
