"""Cases about what would change an answer: when one fails.

Settles that the change that is suggested is the one that the case names, and that it does what it is said to do: it is
applied to the file of the case, and the call is asked again. Does not settle how such a case is written
(`app.case_flips`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stanch.app.beside import Party
from stanch.app.case_places import Place
from stanch.app.case_records import Judge
from stanch.app.case_told import Mismatch, short
from stanch.app.engine import Session
from stanch.app.flipping import Flipping, Flips, Suggested
from stanch.app.loading import open_engine, read_document
from stanch.app.recorded import Recorded
from stanch.values.call import ToolCall
from stanch.values.decision import Effect

_WANTED = ("kind", "does", "place", "others")


def played(place: Place, act: Judge, session: Session) -> list[Mismatch]:
    """Everything that came of it otherwise than the case says."""
    wanted = act.flips or {}
    to = Effect(wanted.get("to", "allow"))
    parties = [Party(session)]
    recorded = [
        Recorded(ToolCall(one["tool"], place.mapped(one.get("args", {}))), parties, str(at), shares_context=True)
        for at, one in enumerate(wanted.get("recorded", ()), 1)
    ]
    decision = session.check(act.tool, place.mapped(act.args), trace=True)
    document = read_document(place.real(place.policy))
    flips = Flipping(parties, decision, document, recorded=recorded).flips(to)
    told = place.shown(_told(flips))
    found = [Mismatch(f"nothing with {text!r}", short(told)) for text in _texts(wanted, "hides") if text in told]
    if "does" not in wanted:
        ways = " | ".join(f"{one.said}: {one.since}" for one in flips.objections)
        texts = ((one, place.shown(ways)) for one in _texts(wanted, "in_the_way"))
        found += [Mismatch(f"in the way: {one}", short(told)) for one, said in texts if one not in said]
        cannot = place.shown(" | ".join(flips.cannot))
        found += [Mismatch(f"cannot: {one}", short(told)) for one in _texts(wanted, "cannot") if one not in cannot]
        return found + [Mismatch("no change", short(told))] * bool(flips.suggested)
    if not flips.suggested:
        return [*found, Mismatch(str(wanted["does"]), short(told))]
    return found + _held(place, wanted, flips.suggested[0], told) + _applied(place, act, flips.suggested[0], to)


def _held(place: Place, wanted: Mapping[str, Any], one: Suggested, told: str) -> list[Mismatch]:
    got = {
        "kind": one.change.kind.value,
        "does": one.change.what.value,
        "place": place.shown(one.patch.place),
        "others": one.others,
    }
    found = [Mismatch(f"{key}: {wanted[key]}", short(told)) for key in _WANTED if wanted.get(key, got[key]) != got[key]]
    toml = place.shown("\n".join(one.patch.lines))
    if wanted.get("toml", "") not in toml:
        found.append(Mismatch(f"lines with {wanted['toml']!r}", toml))
    warned = " | ".join(one.warnings)
    return found + [Mismatch(f"a warning: {text}", warned) for text in _texts(wanted, "warns") if text not in warned]


def _applied(place: Place, act: Judge, one: Suggested, to: Effect) -> list[Mismatch]:
    """What comes of the call once the file has the change."""
    if one.patch.text is None:
        return []
    place.real(place.policy).write_text(one.patch.text, "utf-8")
    given = place.mapped(place.case.given)
    named = {key: given[key] for key in ("agent", "source", "group", "model") if key in given}
    got = open_engine(place.real(place.policy)).session(**named).check(act.tool, place.mapped(act.args)).effect
    return [] if got is to else [Mismatch(f"{to.value}, with the change in the file", got.value)]


def _told(flips: Flips) -> str:
    said = [f"{one.change.what.value} {one.patch.place} {one.patch.lines} {one.warnings}" for one in flips.suggested]
    said += [f"in the way: {one.said}: {one.since}" for one in flips.objections]
    return "; ".join([*said, *flips.cannot])


def _texts(wanted: Mapping[str, Any], key: str) -> Sequence[str]:
    said = wanted.get(key, ())
    return (said,) if isinstance(said, str) else tuple(said)
