"""The steps of a run, one after the other: judged, waited for, done once, and written down.

Settles the order of these, and what the run is once it goes on no more. Does not settle what the gate answers, nor what
a tool does (`content.acting`).
INVARIANT: a step is begun once. It is running in the store before anything of it is done, and whatever is running when
its process dies is never done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from stanch.content.access import Access, Acting
from stanch.content.acting import Judged, Performed, Standing
from stanch.content.run_values import known_values, new_value, read_value, sealed_value
from stanch.content.runs_shown import source_id
from stanch.delivery.admit import admit_content
from stanch.delivery.gates import refusal
from stanch.delivery.source import Kind, Source, known
from stanch.provenance.states import CLEAN, Cause, Provenance, Unknown
from stanch.storage.content_run_nouns import MOST_STEPS, value_id
from stanch.storage.content_run_writing import NewValue
from stanch.values.fault import BadCall, BadInput, Fault, NotFound
from stanch.values.reason import Code, Reason
from stanch.values.run import Part, RunRecord, RunState, StepRecord, StepState

INTERRUPTED = {"code": Code.INTERRUPTED.value, "layer": "approval"}
NOTHING = {"error": "nothing was recorded of it"}
_OPEN = (StepState.PENDING, StepState.WAITING)
_AT_ONCE = 50


class Going:
    """One run that this call holds and goes on with."""

    def __init__(self, access: Access, acting: Acting, run: RunRecord, holder: str) -> None:
        self._access, self._acting, self._run, self._holder = access, acting, run, holder
        self._begun: StepRecord | None = None

    def on(self) -> RunRecord:
        """The run, once it goes on no more: it has ended, or waits. Raises `Conflict` where another one holds it."""
        try:
            return self._on()
        except BaseException:
            self._dropped()
            raise

    def _on(self) -> RunRecord:
        steps = self._access.stores.run_steps(self._run.id, limit=MOST_STEPS)
        for step in steps:
            self._access.told(step.place - 1, len(steps))
            if step.state not in _OPEN:
                continue
            if self._access.cancelled.is_set():
                return self._leave(RunState.PAUSED)
            ended = self._step(step)
            if ended is not None:
                return ended
        self._access.told(len(steps), len(steps))
        return self._leave(RunState.COMPLETED, values=self._output(steps))

    def _step(self, step: StepRecord) -> RunRecord | None:
        """None once the step is done; else the run, which goes on no more."""
        arguments, provenance = self._arguments(step)
        refused = self._refused(step, provenance)
        if refused is not None:
            return self._no(step, {"code": refused.code.value, "layer": refused.layer.value})
        call: Judged | None = None
        if self._run.session_id is not None:
            judged = self._judged(self._run.session_id, step, arguments)
            if isinstance(judged, RunRecord):
                return judged
            call = judged
            if call.edited:
                arguments = dict(call.arguments)
                provenance = self._access.writing.over((provenance,))(arguments)
        self._move(step, StepState.RUNNING, call_id=None if call is None else call.call_id)
        self._begun = step
        done = self._acting.perform(
            self._access,
            step.tool,
            arguments,
            session_id=self._run.session_id,
            call=call,
            sources=(provenance,),
            instead=lambda: self._recorded(step),
        )
        self._begun = None
        if isinstance(done, Judged):
            return self._stands(step, done)
        edited = [] if call is None or not call.edited else [self._value(step, Part.ARGUMENTS, arguments, provenance)]
        return self._done(step, done, edited)

    def _judged(self, session_id: str, step: StepRecord, arguments: Mapping[str, Any]) -> Judged | RunRecord:
        """The call of a step that may be done now; else the run, which waits or has failed."""
        try:
            if step.call_id is None:
                call = self._acting.submit(self._access, session_id, step.tool, arguments)
            else:
                call = self._acting.look(session_id, step.call_id, step.tool, arguments)
        except BadCall:
            return self._no(step, {"code": Code.CALL_UNREADABLE.value, "layer": "integrity"})
        except NotFound:
            return self._no(step, {"code": Code.CALL_CHANGED.value, "layer": "approval"})
        return call if call.standing is Standing.READY else self._stands(step, call)

    def _stands(self, step: StepRecord, call: Judged) -> RunRecord:
        """The run, whose step waits for a person or may not be done."""
        if call.standing is Standing.WAITS:
            self._move(step, StepState.WAITING, call_id=call.call_id, reason=call.reason)
            return self._leave(RunState.PAUSED)
        return self._no(step, call.reason, call.call_id)

    def _no(self, step: StepRecord, reason: Mapping[str, Any], call_id: str | None = None) -> RunRecord:
        self._move(step, StepState.REFUSED, call_id=call_id, reason=reason)
        return self._leave(RunState.FAILED, failed_at=step.place)

    def _done(self, step: StepRecord, done: Performed, edited: list[NewValue]) -> RunRecord | None:
        try:
            result = self._value(step, Part.RESULT, done.value, done.provenance, done.came_from)
        except BadInput:
            words = "what came of it cannot be kept: it is too long, or JSON cannot say it"
            done = Performed({"error": words}, CLEAN, failed=True)
            result = self._value(step, Part.RESULT, done.value, CLEAN)
        self._move(step, StepState.FAILED if done.failed else StepState.COMPLETED, values=[*edited, result])
        return self._leave(RunState.FAILED, failed_at=step.place) if done.failed else None

    def _refused(self, step: StepRecord, provenance: Provenance) -> Reason | None:
        """Why the arguments of a step may not be used: this model may not be given them, or they are no call's.

        WHY the second for everybody: whoever acts in a session is shown its calls, and that may be a model.
        """
        source = Source(Kind.RUN, source_id(self._run.id, step.place, Part.ARGUMENTS), known(provenance))
        (admission,) = admit_content(self._access.delivery, (source,))
        if admission.refusal is None and self._run.session_id is not None and isinstance(provenance, Unknown):
            return refusal(source, Code.CONTENT_UNKNOWN, provenance.cause.value)
        return admission.refusal

    def _arguments(self, step: StepRecord) -> tuple[dict[str, Any], Provenance]:
        key = value_id(self._run.id, step.place, Part.ARGUMENTS)
        kept = self._access.stores.run_values([key])
        if key not in kept:
            return {}, CLEAN
        value = read_value(kept[key].text)
        provenance = known_values(self._access, self._run, [key]).of(key)()
        return (value, provenance) if isinstance(value, dict) else ({}, Unknown(Cause.TAMPERED))

    def _recorded(self, step: StepRecord) -> Performed:
        """What was recorded of the step in the run that is repeated, as it is."""
        stores = self._access.stores
        if self._run.of_run is None:
            return Performed(NOTHING, CLEAN, failed=True)
        old = stores.get_run(self._run.of_run)
        states = [one.state for one in stores.run_steps(old.id, after=step.place - 1, limit=1)]
        done = states == [StepState.COMPLETED]
        key = value_id(old.id, step.place, Part.RESULT)
        kept = stores.run_values([key])
        if key not in kept:
            return Performed(None if done else NOTHING, CLEAN, failed=not done)
        provenance = known_values(self._access, old, [key]).of(key)()
        return Performed(read_value(kept[key].text), provenance, not done, kept[key].came_from)

    def _output(self, steps: list[StepRecord]) -> list[NewValue]:
        """The output and the logs of the run that is repeated, where each step gave what was recorded of it.

        WHY nothing otherwise: an output that was made of other results says nothing of these.
        """
        if self._run.of_run is None or not self._same_results(self._run.of_run, [step.place for step in steps]):
            return []
        old = self._access.stores.get_run(self._run.of_run)
        ids = [value_id(old.id, 0, part) for part in (Part.OUTPUT, Part.LOGS)]
        kept, batch = self._access.stores.run_values(ids), known_values(self._access, old, ids)
        return [
            sealed_value(
                self._access, self._run.id, (0, kept[key].part), kept[key].text, batch.of(key)(), kept[key].came_from
            )
            for key in ids
            if key in kept
        ]

    def _same_results(self, old_id: str, places: list[int]) -> bool:
        for at in range(0, len(places), _AT_ONCE):
            some = places[at : at + _AT_ONCE]
            new, old = (
                self._access.stores.run_values([value_id(one, place, Part.RESULT) for place in some])
                for one in (self._run.id, old_id)
            )
            if [_text(new, self._run.id, place) for place in some] != [_text(old, old_id, place) for place in some]:
                return False
        return True

    def _dropped(self) -> None:
        """Lets go of the run, whatever went wrong: what was begun and has not ended is not to be done again."""
        with suppress(Fault):
            if self._begun is None:
                self._leave(RunState.PAUSED)
                return
            self._move(self._begun, StepState.INTERRUPTED, reason=INTERRUPTED)
            self._leave(RunState.FAILED, failed_at=self._begun.place)

    def _value(
        self, step: StepRecord, part: Part, value: Any, provenance: Provenance, came_from: Sequence[str] = ()
    ) -> NewValue:
        return new_value(self._access, self._run.id, step.place, part, value, provenance, came_from)

    def _move(self, step: StepRecord, state: StepState, **more: Any) -> None:
        self._access.stores.move_step(self._run.id, self._holder, step.place, state, **more, by=self._access.by)

    def _leave(self, state: RunState, **more: Any) -> RunRecord:
        return self._access.stores.leave_run(self._run.id, self._holder, state, **more, by=self._access.by)


def _text(kept: Mapping[str, Any], run_id: str, place: int) -> str:
    one = kept.get(value_id(run_id, place, Part.RESULT))
    return json.dumps(None) if one is None else str(one.text)
