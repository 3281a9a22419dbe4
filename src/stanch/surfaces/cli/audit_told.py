"""How the answers of `stanch audit` read: whether the log is whole, and who was sent what.

Settles words and columns. Does not settle what is asked (`surfaces.cli.audit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stanch.explain import visible

if TYPE_CHECKING:
    from stanch.delivery.who_saw import Sighting, Sightings
    from stanch.values.records import ChainReport


def chain_json(report: ChainReport) -> dict[str, Any]:
    """Whether the log holds, as JSON."""
    broken = None if report.broken is None else report.broken.value
    return {"holds": report.broken is None, "intact": report.intact, "seq": report.seq, "broken": broken}


def chain_line(report: ChainReport) -> str:
    """Whether the log holds, in one line."""
    if report.broken is None:
        return f"the audit log is whole: {report.intact:,} rows"
    return f"the audit log is broken: row {report.seq} was {report.broken.value}; {report.intact:,} rows hold"


def sightings_json(found: Sightings, report: ChainReport) -> dict[str, Any]:
    """Who was sent what, as JSON."""
    sightings = [
        {
            "session": one.session,
            "model": one.model,
            "item": one.item,
            "form": one.form.value,
            "first": one.first,
            "last": one.last,
            "count": one.count,
            "operations": list(one.operations),
        }
        for one in found.items
    ]
    return {
        "secret": found.asked.secret,
        "item": found.asked.item,
        "known": found.known,
        "sightings": sightings,
        "more": found.more,
        "unrecorded": found.unrecorded,
        "unread": found.unread,
        "log": chain_json(report),
    }


def sightings_lines(found: Sightings, report: ChainReport) -> Iterator[str]:
    """Who was sent what, line by line, by session and model; what is invisible in a name is written out."""
    what = found.asked.secret if found.asked.secret is not None else found.asked.item
    if not found.items:
        yield f"no receipt says that a model was sent {visible(what or '')}"
    place: tuple[str, str] | None = None
    for one in sorted(found.items, key=lambda one: (one.session, one.model, one.first, one.item or "")):
        if (one.session, one.model) != place:
            place = (one.session, one.model)
            yield f"{visible(one.session)}  {visible(one.model or '(no model)')}"
        yield f"  {one.form.value:<15}  {visible(one.item or '-')}  {_times(one)}"
    if found.more:
        yield f"and {found.more:,} more receipts, for which there was no room; ask for one --session or --item"
    if found.unrecorded and found.asked.secret is not None:
        yield (
            f"{_times_of(found.unrecorded)} a model got an item of which nobody had recorded what it carries; "
            "no label of this secret stood in those"
        )
    if found.unread:
        yield f"{found.unread:,} receipts cannot be read"
    yield chain_line(report)


def _times(one: Sighting) -> str:
    first, last = one.first[:19].replace("T", " "), one.last[:19].replace("T", " ")
    when = first if one.count == 1 else f"{first} to {last}, {one.count:,} receipts"
    return visible(f"{when}, {', '.join(one.operations)}")


def _times_of(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
