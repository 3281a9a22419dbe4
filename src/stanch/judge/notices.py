"""What do those who ask the judge make of its answer? One table for all of them.

Settles whom a verdict stops, and with which face each of them asks. Does not settle the verdict (`judge.judge`), nor
what is done with a file that nothing stops (`app`).
INVARIANT: whatever is not expressly let through stops; a state that is new one day stops everybody.
"""

from __future__ import annotations

from enum import StrEnum

from stanch.judge.question import Probe
from stanch.values.verdict import Cause, Face, State, Verdict


class Consumer(StrEnum):
    """Who asks, by the word that its probes carry."""

    CHANGED_FILE = "changed-file"  # tells a model that a file which it has read is another by now
    ATTACHMENT = "attachment"  # puts a file that a person mentions into the prompt
    CONTEXT_FILE = "context-file"  # puts a file into what the system says to a model, unasked
    MEMORY = "memory"  # rewrites what agents remember, while nobody watches

    @property
    def face(self) -> Face:
        """What is asked about: a read, or a write."""
        return Face.WRITE if self is Consumer.MEMORY else Face.READ

    def probe(self, path: str) -> Probe:
        """The question about one file. Raises `BadFields` for an empty path."""
        return Probe(self.face, self.value, path)


def goes_on(consumer: Consumer, verdict: Verdict) -> bool:
    """True where the consumer may do with this very file what it asked about.

    The content of a file, and a write of one, need that everybody was asked and nobody objected. A notice holds a name
    that the model knows: only who refuses it outright stops it, and that the time was over. WHY that: a layer that
    hangs would else be taken for one which has nothing to say, in every turn.
    """
    if verdict.state is State.NO_OBJECTION:
        return True
    if consumer is not Consumer.CHANGED_FILE:
        return False
    if verdict.state is State.UNANSWERABLE:
        return verdict.cause is not None and verdict.cause is not Cause.TIMED_OUT
    return verdict.state is State.MANDATED_ASK
