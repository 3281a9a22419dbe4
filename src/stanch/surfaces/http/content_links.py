"""Public links over REST: `/api/links`, and `/links/{token}`, which gives a file to whoever has the token.

Settles the routes, and that the second one needs no sign-in and shows no file in a page. Does not settle what a link
gives (`content.links`).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from stanch.content.links import (
    LinkList,
    LinksOf,
    NewLinkGiven,
    OpenLink,
    ShareFile,
    Unshared,
    UnshareFile,
    list_links,
    open_link,
    share_file,
    unshare_file,
)
from stanch.surfaces.http.access import Served
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit
from stanch.surfaces.http.routers import BODY, guarded
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor

ROUTER = guarded("/api/links", "links", ContentRoute)
PUBLIC = APIRouter(tags=["links"], redirect_slashes=False)
# WHY no one's name: whoever follows a link may be anybody, and sees nothing that is somebody's.
ANYBODY = Principal(PrincipalKind.API_KEY, "link")
FileOf = Annotated[str, Query(min_length=1, max_length=1_024, description="The file.")]
SENT: dict[int | str, dict[str, Any]] = {
    **{code: said for code, said in problems(404).items() if code in (404, 421, 422, 500, 503)},
    200: {"content": {"application/octet-stream": {}}},
}


@ROUTER.get("", response_model=LinkList, responses=problems(404))
@serves(list_links)
def list_all(path: FileOf, asks: Asks, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the links to a file that hold, without their tokens."""
    return as_json(asks(list_links, LinksOf(path=path, limit=limit, cursor=cursor)))


@ROUTER.post("", status_code=201, response_model=NewLinkGiven, responses=problems(404, 409, *BODY))
@serves(share_file)
def share(body: ShareFile, asks: Asks) -> Any:
    """Make a link to a file. Its token is in this answer, and in no other."""
    return as_json(asks(share_file, body), 201)


@ROUTER.delete("", response_model=Unshared, responses=problems(404))
@serves(unshare_file)
def unshare(path: FileOf, asks: Asks, link: Annotated[str | None, Query(min_length=1, max_length=100)] = None) -> Any:
    """Revoke a link to a file, or all of them."""
    return as_json(asks(unshare_file, UnshareFile(path=path, link=link)))


@PUBLIC.get("/links/{token}", response_class=StreamingResponse, responses=SENT)
def follow(token: Annotated[str, Path(min_length=1, max_length=200)], service: Served) -> Any:
    """Download the file that a link leads to. This needs no token but the link's own."""
    access = service.content.access(ANYBODY, Actor(ANYBODY.id, "link"))
    return streamed(open_link(access, OpenLink(token=token)))
