"""Carrying out a case about a conversation: it is sent to one model after another, and each copy held against the case.

Settles when such a case fails. Whatever the case says of a send, three things are looked at: a message of which it says
nothing is the very same object, the list is a new one, and what was given is as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from stanch.app.case_messages import placed
from stanch.app.case_places import Place
from stanch.app.case_records import History, Send
from stanch.app.case_told import Mismatch, short
from stanch.policy.document import Policy
from stanch.tiers.answers import Answers, Given
from stanch.tiers.dialects.ours import write_message, write_messages
from stanch.tiers.history import Redacted, redact_history
from stanch.tiers.history_verdicts import reading
from stanch.tiers.tier import Tiers
from stanch.values.call import EffectClass
from stanch.values.fault import Fault
from stanch.values.message import Message

Sent = Callable[[Place, Sequence[Message], Send], Redacted]
"""What comes of a send through some door. Raises a `Fault` where nothing may be sent."""


def played(place: Place, act: History, sent: Sent) -> list[Mismatch]:
    """Everything that came out of the sends otherwise than they say."""
    found: list[Mismatch] = []
    said = [placed(one, place.mapped) for one in act.messages]
    for number, send in enumerate(act.sends, 1):
        about = f"send {number} (line {send.line}): "
        said += [placed(one, place.mapped) for one in send.more]
        before = _written(said)
        try:
            got = sent(place, said, send)
        except Fault as why:
            if send.fault is None or send.fault not in place.shown(str(why)):
                found.append(Mismatch(f"{about}{send.fault or 'a copy'}", f"fault: {place.shown(str(why))}"))
            continue
        if send.fault is not None:
            found.append(Mismatch(f"{about}fault: ...{send.fault}...", "a copy"))
        found += _held(place, said, send, got, about)
        if _written(said) != before or got.messages is said:
            found.append(Mismatch(f"{about}the conversation as it was", "another one"))
    return found


def sent_by(policy: Policy, place: Place, said: Sequence[Message], send: Send) -> Redacted:
    """What comes of a send where nothing stands before the filter."""
    tier = Tiers(policy).of(send.to)
    answers = Answers(
        Given(tier.id, EffectClass.READ, place.mapped(path), yes, below) for path, yes, below in send.answers
    )
    return redact_history(said, reading(tier, answers), tier.label, model=send.to, quotes=send.quotes)


def _held(place: Place, said: Sequence[Message], send: Send, got: Redacted, about: str) -> Iterator[Mismatch]:
    if len(got.messages) != len(said):
        yield Mismatch(f"{about}{len(said)} messages", f"{len(got.messages)} messages")
        return
    for at in send.becomes:
        if at > len(said):
            yield Mismatch(f"{about}message {at}", f"{len(said)} messages")
    for at, (old, new) in enumerate(zip(said, got.messages, strict=True), 1):
        shown = _shown(place, new)
        wanted = send.becomes.get(at)
        if wanted is None:
            if new is not old:
                yield Mismatch(f"{about}message {at} as it was", short(shown))
            continue
        text = _shown(place, placed(wanted, place.mapped))
        if text != shown:
            yield Mismatch(f"{about}message {at}: {text}", shown)
    everything = place.shown(_written(got.messages))
    for text in send.hides:
        if text in everything:
            yield Mismatch(f"{about}a copy without {text!r}", short(everything))
    yield from _reported(place, send, got, about)


def _reported(place: Place, send: Send, got: Redacted, about: str) -> Iterator[Mismatch]:
    report = got.report
    for key, wanted, counts in (("pieces", send.pieces, report.pieces), ("quotes", send.quoted, report.quotes)):
        shown: Mapping[str, int] = {place.shown(name): count for name, count in counts.items()}
        if wanted is not None and dict(wanted) != shown:
            yield Mismatch(f"{about}{key} {dict(wanted)}", f"{shown}")
    asks = [place.shown(name) for name in report.asks]
    if send.asks is not None and list(send.asks) != asks:
        yield Mismatch(f"{about}asks about {list(send.asks)}", f"asks about {asks}")
    if send.unsent is not None and send.unsent != report.unsent:
        yield Mismatch(f"{about}{send.unsent} left out", f"{report.unsent} left out")


def _shown(place: Place, message: Message) -> str:
    """The message as a text. WHY no spans but their words: they count the characters of a path that is another here."""
    row = write_message(message)
    for part in row["parts"]:
        text = part.get("text") or "".join(one.get("text", "") for one in part.get("content", ()))
        for tag in part.get("tags", ()):
            if "span" in tag:
                tag["span"] = text[slice(*tag["span"])]
    return place.shown(json.dumps(row, ensure_ascii=False))


def _written(messages: Sequence[Message]) -> str:
    return json.dumps(write_messages(messages), ensure_ascii=False)
