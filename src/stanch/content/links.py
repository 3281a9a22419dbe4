"""Public links: a token that gives a file to whoever has it.

Settles that a token is told once and kept as its digest, and that no model makes or sees a link to what it could not
have as it is. Does not settle at which address a link is asked for (`surfaces`).
WHY a link of a model stays with the version that was admitted: whoever follows a link passes no gate any more.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access
from stanch.content.file_items import BrokenGiven, PathText, broken, file_at, source_of
from stanch.content.files import Cursor, Limit
from stanch.content.streams import Stream
from stanch.delivery.admit import admit_content, admit_written_content, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import OPAQUE, Kind
from stanch.values.fault import BrokenRow
from stanch.values.files import LinkRecord
from stanch.values.records import Broken

_BYTES = 32
_LONGEST_TOKEN = 200


class ShareFile(Asked):
    """A file that is to be had by a link."""

    path: PathText


class LinksOf(Asked):
    """The links to a file."""

    path: PathText
    limit: Limit = 100
    cursor: Cursor = None


class UnshareFile(Asked):
    """A link that ends, or all of a file."""

    path: PathText
    link: Annotated[str | None, Field(max_length=100, description="Its id; left out: all links to the file.")] = None


class OpenLink(Asked):
    """A link's token."""

    token: str = Field(repr=False)


class LinkGiven(Given):
    """A link to a file, without its token. `version` is null for one that gives the newest."""

    id: str
    path: str
    version: int | None
    created_at: datetime
    created_by: str


class NewLinkGiven(LinkGiven):
    """A link that was just made. `token` is never told again; the address is `/links/` and the token."""

    token: str = Field(repr=False)
    address: str = Field(repr=False)


class LinkList(Given):
    """A page of links that hold, oldest first."""

    items: tuple[LinkGiven | BrokenGiven, ...]
    total: int
    next: str | None


class Unshared(Given):
    """How many links were revoked."""

    path: str
    revoked: int


@operation("files_share", ShareFile, tool="files_share", content_delivery=ContentDelivery.SOURCED)
def share_file(access: Access, asked: ShareFile) -> NewLinkGiven:
    """Make a public link to a stored file: whoever has it can download the file without signing in."""
    file = file_at(access, asked.path)
    require_admitted_content(access.delivery, source_of(access, file, view=OPAQUE, kind=Kind.LINK))
    token = secrets.token_urlsafe(_BYTES)
    record = access.stores.add_file_link(
        file.id,
        f"link_{secrets.token_hex(12)}",
        digest_of(token),
        version=file.version if access.delivery.classified else None,
        expected=file.version,
        by=access.by,
    )
    admit_written_content(access.delivery, ())
    link = _shown(record, file.path)
    return NewLinkGiven(**link.model_dump(), token=token, address=f"/links/{token}")


@operation("files_links", LinksOf, tool="files_links", content_delivery=ContentDelivery.SOURCED)
def list_links(access: Access, asked: LinksOf) -> LinkList:
    """List the public links to a stored file that hold. Their tokens are not among what is told."""
    file = file_at(access, asked.path)
    require_admitted_content(access.delivery, source_of(access, file, view=OPAQUE, kind=Kind.LINK))
    page = access.stores.list_file_links(file.id, limit=asked.limit, cursor=asked.cursor)
    items = tuple(broken(one) if isinstance(one, Broken) else _shown(one, file.path) for one in page.items)
    return LinkList(items=items, total=page.total, next=page.next)


@operation("files_unshare", UnshareFile, tool="files_unshare", content_delivery=ContentDelivery.NONE)
def unshare_file(access: Access, asked: UnshareFile) -> Unshared:
    """Revoke a public link to a stored file, or all of them."""
    file = file_at(access, asked.path, deleted=True)
    revoked = access.stores.revoke_file_links(file.id, asked.link, by=access.by)
    admit_written_content(access.delivery, ())
    return Unshared(path=file.path, revoked=revoked)


@operation("links_open", OpenLink, content_delivery=ContentDelivery.SOURCED, in_chat=False)
def open_link(access: Access, asked: OpenLink) -> Stream:
    """Give the bytes of the file that a link leads to."""
    admit_content(access.delivery, ())
    link, file = access.stores.linked_file(digest_of(asked.token[:_LONGEST_TOKEN]))
    version = access.stores.file_version(file.id, file.version if link.version is None else link.version)
    if not access.blobs.has(version.digest, version.size):
        raise BrokenRow("file_versions", version.id, "its bytes are gone, or not all there")
    name = file.path.rpartition("/")[2]
    return Stream(access.blobs.chunks(version.digest), name, version.media_type, version.size)


def digest_of(token: str) -> str:
    """What is kept of a token. WHY this and no comparison: what a database compares is then no part of the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _shown(record: LinkRecord, path: str) -> LinkGiven:
    return LinkGiven(
        id=record.id,
        path=path,
        version=record.version,
        created_at=record.created_at,
        created_by=record.created_by,
    )
