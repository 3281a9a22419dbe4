"""What is known of an item, as a page says it: a badge in a list, and a table on the item's own page.

Settles the words of a badge, and that one in a list is looked up once it is seen. Does not settle what is known
(`content.provenance`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from stanch.content.provenance import OfItems, tell_provenance
from stanch.content.provenance_told import ItemKnown, Of, State
from stanch.surfaces.console.content_reach import Reach, made
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import NotFound

VIEWS = {
    "complete": "its text",
    "opaque": "its bytes, an archive or a public link",
    "excerpt": "a part that was cut before anybody looked",
}
MOST_NAMES = 3


class Badge(NamedTuple):
    """A badge: its tone, its sign and its words. `address` is where one is looked up that is not known yet."""

    tone: str = "none"
    sign: str = "…"
    text: str = ""
    more: str = ""
    address: str = ""


class View(NamedTuple):
    """What a model gets of an item in one shape."""

    what: str
    given: bool
    says: str


class Known(NamedTuple):
    """What is known of an item, for its own page."""

    badge: Badge
    says: str
    secrets: Sequence[tuple[str, str]]
    further: int
    version: int | None
    views: Sequence[View]

    @property
    def alike(self) -> bool:
        """True where a model gets as much in one shape as in any other."""
        return len({(view.given, view.says) for view in self.views}) == 1

    @property
    def text_says(self) -> str:
        """What a model gets of its text, in words."""
        return next((view.says for view in self.views), "")


def piece(asked: Asked) -> Response:
    """The badge of one item of a list."""
    reach = Reach(asked)
    try:
        kind = Of(asked.get("kind"))
    except ValueError:
        raise Refused(404, "There is nothing at this address.") from None
    found = known_of(reach, kind, [reach.get("id")], version=reach.number("version"))
    badge = next(iter(found.values())).badge if found else Badge("none", "–", "gone")
    return asked.page("content_badge.html.j2", one=badge)


def later(reach: Reach, kind: Of, item: str, version: int | None = None) -> Badge:
    """A badge that is looked up once it is seen."""
    return Badge(address=reach.address("/badge", kind=kind.value, id=item, version=version))


def known_of(reach: Reach, kind: Of, ids: Sequence[str], *, version: int | None = None) -> Mapping[str, Known]:
    """What is known of these items, by their names. Those that are not there are left out."""
    arguments = made(OfItems, kind=kind, ids=tuple(ids), version=version)
    return {one.id: _known(reach, one) for one in reach.asks(tell_provenance, arguments).items}


def one_of(reach: Reach, kind: Of, item: str, *, version: int | None = None) -> Known:
    """What is known of an item. Raises `NotFound`."""
    found = known_of(reach, kind, [item], version=version)
    if item not in found:
        raise NotFound(kind.value.replace("_", " "), reach.say(item))
    return found[item]


def _known(reach: Reach, item: ItemKnown) -> Known:
    views = [View(VIEWS.get(view.view, view.view), view.given, reach.say(view.says)) for view in item.views]
    return Known(
        badge_of(reach, item),
        _says(reach, item),
        [(one.name, one.scope) for one in item.secrets],
        item.count - len(item.secrets),
        item.version,
        views,
    )


def badge_of(reach: Reach, item: ItemKnown) -> Badge:
    """The badge of an item of which it is known what there is to know."""
    match item.state:
        case State.EXACT if not item.count:
            return Badge("allow", "✓", "clean")
        case State.EXACT:
            names = ", ".join(one.name for one in item.secrets[:MOST_NAMES])
            more = f"{names}{', …' if item.count > MOST_NAMES else ''}"
            return Badge("ask", "◆", f"carries {item.count:,} secret{'' if item.count == 1 else 's'}", more)
        case State.UNKNOWN:
            return Badge("deny", "?", "unknown", item.why)
        case State.BROKEN:
            return Badge("deny", "✕", "cannot be read", reach.say(item.why))
        case _:
            return Badge("none", "–", "not recorded")


def _says(reach: Reach, item: ItemKnown) -> str:
    match item.state:
        case State.EXACT if not item.count:
            return "Whoever wrote it knew every secret in use, and none of them is in it."
        case State.EXACT:
            return "Whoever wrote it knew every secret in use, and these are in it:"
        case State.UNKNOWN:
            return f"Nobody can say which secrets it carries: {item.why}."
        case State.BROKEN:
            return f"{reach.say(item.why)}."
        case _:
            return (
                "Nobody recorded it: a person's own upload, or something from before. It passes; a value of the vault "
                "is taken out of its text all the same."
            )
