"""`/console/content/file`: one file, with what is known of it, what a model gets, its versions and its public links.

Settles that a file's content is shown as a model gets it, until the person asks for it as it is. Does not settle what
is known of it (`content.provenance`), nor what a link gives (`content.links`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.content.compile_files import form_of
from stanch.content.extraction import Unextractable
from stanch.content.file_items import BrokenGiven
from stanch.content.file_texts import ReadText, read_text
from stanch.content.files import OneFile, VersionGiven, VersionsOf, list_versions, read_info
from stanch.content.links import LinksOf, UnshareFile, list_links, unshare_file
from stanch.content.provenance_told import Of
from stanch.delivery.admit import ContentRefused
from stanch.surfaces.console import content_view
from stanch.surfaces.console.content import above
from stanch.surfaces.console.content_badges import Badge, Known, later, one_of
from stanch.surfaces.console.content_reach import Reach, made, why_withheld
from stanch.surfaces.console.content_text import SOME_LINES, Sides, got, stored
from stanch.surfaces.console.guard import Asked, goes_to
from stanch.values.fault import StoreUnreadable

MOST_VERSIONS = 20
MOST_LINKS = 100
MOST_LINES = 10_000


class Version(NamedTuple):
    """A version in the list."""

    number: int
    size: int
    by: str
    at: Any
    moved: str
    address: str
    download: str
    badge: Badge


def page(asked: Asked) -> Response:
    """The newest version of a file, or an older one, also of one that was deleted."""
    reach = Reach(asked)
    path, number = reach.get("path"), reach.number("version")
    versions = reach.asks(
        list_versions, made(VersionsOf, path=path, limit=MOST_VERSIONS, cursor=reach.get("cursor") or None)
    )
    about = None if versions.deleted_at is not None else reach.asks(read_info, made(OneFile, path=path))
    if about is None and number is None:
        number = versions.total  # versions count from 1, and none is ever removed
    known = one_of(reach, Of.FILE, path, version=number)
    links = None if about is None else reach.asks(list_links, made(LinksOf, path=path, limit=MOST_LINKS))
    as_page = asked.get("page") == "1"
    answer = asked.page(
        "content_file.html.j2",
        at="content",
        wide=True,
        name=reach.say(versions.path.rpartition("/")[2]),
        above=above(reach, versions.path)[:-1],
        about=about,
        changed_by="" if about is None else reach.say(about.changed_by),
        deleted_at=versions.deleted_at,
        number=known.version,
        is_newest=about is not None and known.version == about.version,
        newest=reach.address("/file", path=path),
        known=known,
        sides=_sides(reach, path, known),
        frame=reach.address("/view", path=path, version=known.version) if as_page else "",
        here=_here(reach, path, number),
        versions=[_version(reach, one) for one in versions.items if isinstance(one, VersionGiven)],
        broken=[one for one in versions.items if isinstance(one, BrokenGiven)],
        further="" if versions.next is None else reach.address("/file", path=path, cursor=versions.next),
        links=links,
        link_broken=[] if links is None else [one for one in links.items if isinstance(one, BrokenGiven)],
        path_fields=reach.fields(path=path),
    )
    if as_page:
        answer.headers["Content-Security-Policy"] = content_view.POLICY
    return answer


def unshare(asked: Asked) -> Response:
    """Ends a public link."""
    reach = Reach(asked)
    path, link = reach.get("path"), reach.get("link")
    reach.asks(unshare_file, made(UnshareFile, path=path, link=link))
    return goes_to(f"{reach.address('/file', path=path)}#links")


def _here(reach: Reach, path: str, number: int | None) -> dict[str, str]:
    """The addresses of this very page: as it is shown at first, with the content as it is, with all of it."""
    raw = "1" if reach.raw else ""
    return {
        "redacted": reach.address("/file", path=path, version=number),
        "raw": reach.address("/file", path=path, version=number, raw=1),
        "all": reach.address("/file", path=path, version=number, raw=raw, all=1),
        "page": reach.address("/file", path=path, version=number, page=1),
        "pdf": reach.address("/download", kind="pdf", path=path) if number is None and form_of(path)[0] else "",
        "download": reach.address("/download", kind="file", path=path, version=number),
        "who_saw": reach.address("/who-saw", path=path),
    }


def _sides(reach: Reach, path: str, known: Known) -> Sides:
    asked = made(ReadText, path=path, version=known.version, lines=MOST_LINES)
    most = None if reach.asked.get("all") == "1" else SOME_LINES
    found, why = None, ""
    try:
        found = got(reach.as_model(read_text, asked)["text"], most)
    except ContentRefused as refused:
        why = known.text_says or why_withheld(refused)
    except (Unextractable, StoreUnreadable) as problem:
        why = reach.asked.failing.sentence(problem)
    if not reach.raw:
        return Sides(found, why)
    try:
        return Sides(found, why, stored(reach.asks(read_text, asked).text, most))
    except (Unextractable, StoreUnreadable):
        return Sides(found, why)


def _version(reach: Reach, one: VersionGiven) -> Version:
    path = reach.get("path")
    return Version(
        one.version,
        one.size,
        reach.say(one.by),
        one.created_at,
        reach.say(one.path) if one.path != path.strip("/") else "",
        reach.address("/file", path=path, version=one.version),
        reach.address("/download", kind="file", path=path, version=one.version),
        later(reach, Of.FILE, path, one.version),
    )
