"""Cases about secrets in texts: what must come of each text.

Settles when such a case fails. Does not settle its keys (`app.case_secrets`). Whatever a case says of a text, three
more things are looked at, with every engine: that what came out is left alone when it is projected again, that the
text comes out the same in pieces, wherever it is cut, and that what was given is as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stanch.app.case_records import Case, Projected, Projection
from stanch.app.case_told import Mismatch, short
from stanch.secrets.budget import Budget, Withheld
from stanch.secrets.engines import engines
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret

LONGEST_CUT_EVERYWHERE = 300


def played(case: Case, act: Projection) -> Iterator[Mismatch]:
    """Everything that came out otherwise than the case says."""
    secrets = {name: Secret(value) for name, value in case.given.get("secrets", {}).items()}
    for engine in engines():
        projector = Projector(secrets, engine=engine)
        backwards = Projector(dict(reversed(secrets.items())), engine=engine)
        for one in act.texts:
            pair = (projector, backwards)
            if "budget" in one.row:
                pair = (Projector(secrets, engine=engine, budget=Budget(**one.row["budget"])),) * 2
            for which in pair:
                about = f"{one.form} (line {one.line}, {engine.name}): "
                yield from (Mismatch(f"{about}{wanted}", got) for wanted, got in _differences(which, one))


def _differences(projector: Projector, one: Projected) -> Iterator[Mismatch]:
    given = one.row[one.form]
    if one.form == "short":
        if set(given) != projector.short:
            yield Mismatch(f"{sorted(given)} are too short", f"{sorted(projector.short)} are")
        return
    before = copy.deepcopy(given)
    try:
        got = _came_of(projector, one)
    except Withheld as why:
        if one.row.get("withheld") != why.cause:
            yield Mismatch(repr(one.row.get("withheld", one.row.get("becomes"))), f"withheld: {why.cause}")
        return
    if "withheld" in one.row:
        yield Mismatch(f"withheld: {one.row['withheld']}", short(repr(got)))
        return
    if "hides" not in one.row or "becomes" in one.row:
        unchanged = "".join(given) if one.form == "pieces" else given
        if got != (wanted := one.row.get("becomes", unchanged)):
            yield Mismatch(repr(wanted), repr(got))
    if given != before:
        yield Mismatch("what was given, as it was", short(repr(given)))
    for hidden in one.row.get("hides", ()):
        if hidden in repr(got):
            yield Mismatch(f"nothing of {hidden!r}", short(repr(got)))
    yield from _further(projector, one, got)


def _came_of(projector: Projector, one: Projected) -> Any:
    given = one.row[one.form]
    if "window" in one.row:
        return projector.window(given, *one.row["window"])
    if one.form == "pieces":
        stream = projector.stream()
        return "".join([*map(stream.feed, given), stream.end()])
    calls: Mapping[str, Callable[[Any], Any]] = {
        "text": projector.text,
        "value": projector.structure,
        "excerpt": projector.excerpt,
    }
    return calls[one.form](given)


def _further(projector: Projector, one: Projected, got: Any) -> Iterator[Mismatch]:
    """What holds for every text."""
    if (again := projector.structure(got)) != got:
        yield Mismatch(f"{short(repr(got))}, also when it is projected again", short(repr(again)))
    given = one.row[one.form]
    found = projector.found_in(list(given) if one.form == "pieces" else given)
    if "found" in one.row and found != set(one.row["found"]):
        yield Mismatch(f"{sorted(one.row['found'])} found", f"{sorted(found)}")
    if one.form == "text" and "window" not in one.row and len(given) <= LONGEST_CUT_EVERYWHERE:
        for cut in range(len(given) + 1):
            stream = projector.stream()
            streamed = stream.feed(given[:cut]) + stream.feed(given[cut:]) + stream.end()
            if streamed != got:
                yield Mismatch(f"{got!r}, also when it is cut after {cut}", repr(streamed))
