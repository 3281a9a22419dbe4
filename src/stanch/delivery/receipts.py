"""What is kept of a delivery and of a send: who got which items, in which shape, with which secrets taken out.

Settles the records, as the audit log has them, and that many items make several of them. Does not settle when one is
written (`app.receipts`), nor what is asked of them (`delivery.who_saw`).
INVARIANT: they hold names, places, numbers and codes; no content, and no value of a secret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from stanch.delivery.admit import Admission, Delivery, Ended
from stanch.delivery.source import Complete, Excerpt, Opaque, View

DELIVERED, SENT = "content.delivered", "model.sent"
"""The actions of the two kinds of receipts in the audit log. INVARIANT: neither is told as an event."""
ADMITTED = "admitted"
MOST_ITEMS = 200
"""How many items one record names; further ones are in further records."""
MOST_SECRETS = 1_000
"""How many names of secrets stand beside one item."""


@dataclass(frozen=True, slots=True)
class Came:
    """Where something that was sent came from: a name, its kind, and the secrets whose labels stand there.

    `kind` is `path`, `subtree`, `item` or `unknown`, as source tags have it.
    """

    name: str
    kind: str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Send:
    """One request to a model. `came`, `labels` and `withheld` are what was not told before of this session and model.

    `labels` are the names of secrets whose label stands in what came from nowhere that is known: words, a task, a
    summary. `withheld` are the names of what the model's tier closed. `counted`: its tokens were to be counted alone.
    """

    model: str
    tier: str
    messages: int
    came: Sequence[Came] = ()
    labels: Sequence[str] = ()
    withheld: Sequence[str] = ()
    counted: bool = False


def of_delivery(
    delivery: Delivery,
    *,
    model: str | None,
    ended: Ended,
    replaced: Collection[str] = (),
    code: str = "",
    since: int = 0,
) -> Iterator[dict[str, Any]]:
    """The records of a delivery, one at least. `replaced` are the secrets for which a label stands in its result.

    Those of them that no item is known to carry stand under `unexplained`: they came with what nobody recorded, or with
    no item at all. Items before the one of number `since` are left out.
    """
    settled = delivery.settled[since:]
    carried = {name for one in delivery.settled if one.admitted for name in one.secrets}
    said: dict[str, Any] = {"operation": delivery.operation, "model": model, "ended": ended.value}
    said |= {"call": delivery.call} if delivery.call else {}
    said |= {"code": code} if code else {}
    names = [list(some) for some in _some(sorted(replaced))]
    unexplained = [name for name in (names[0] if names else ()) if name not in carried]
    first: dict[str, Any] = {"redacted": names[0]} if names else {}
    for items in _packed(_item(one, names) for one in settled for names in _some(one.secrets, least=1)):
        yield {**said, **first, **({"unexplained": unexplained} if unexplained else {}), "items": items}
        first = {}
    for further in names[1:]:
        unexplained = [name for name in further if name not in carried]
        yield {**said, "redacted": further, "unexplained": unexplained, "items": []}


def of_send(send: Send) -> Iterator[dict[str, Any]]:
    """The records of a send, one at least."""
    said = {"model": send.model, "tier": send.tier, "messages": send.messages}
    said |= {"counted": True} if send.counted else {}
    came = list(_packed(_came(one, names) for one in send.came for names in _some(one.secrets, least=1)))
    labels, withheld = list(_some(send.labels)), list(_some(send.withheld, MOST_ITEMS))
    for new, words, closed in zip_longest(came, labels, withheld, fillvalue=()):
        secrets = dict.fromkeys(words, "label") | {name: "redacted" for one in new for name in one.get("secrets", ())}
        more = {"new": list(new), "secrets": secrets, "labels": list(words), "withheld": list(closed)}
        yield {**said, **{key: value for key, value in more.items() if value}}


def _some(names: Sequence[str], most: int = MOST_SECRETS, *, least: int = 0) -> Iterator[Sequence[str]]:
    """The names, so many at a time; `least` is how often something is given where there are none."""
    for start in range(0, max(least, len(names)), most):
        yield names[start : start + most]


def _packed(entries: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The entries, as many at a time as a record holds; an empty list where there is none."""
    held: list[dict[str, Any]] = []
    given, names = False, 0
    for entry in entries:
        weight = len(entry.get("secrets", ()))
        if held and (len(held) >= MOST_ITEMS or names + weight > MOST_SECRETS):
            yield held
            held, names, given = [], 0, True
        held.append(entry)
        names += weight
    if held or not given:
        yield held


def _item(one: Admission, secrets: Sequence[str]) -> dict[str, Any]:
    source = one.source
    verdict = ADMITTED if one.refusal is None else one.refusal.code.value
    said: dict[str, Any] = {
        "kind": source.kind.value,
        "id": source.id,
        "view": view_name(source.view),
        "verdict": verdict,
    }
    said |= {"path": source.path} if source.path is not None else {}
    said |= {"version": source.version} if source.version is not None else {}
    said |= {"state": one.state.value} if one.state is not None else {}
    return {**said, "secrets": list(secrets)} if secrets else said


def _came(one: Came, secrets: Sequence[str]) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "kind": one.kind}
    return {**said, "secrets": list(secrets)} if secrets else said


def view_name(view: View) -> str:
    """What a view is called."""
    match view:
        case Complete():
            return "complete"
        case Opaque():
            return "opaque"
        case Excerpt():
            return "excerpt"
        case _:
            return "derived"
