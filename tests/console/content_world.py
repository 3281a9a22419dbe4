"""Stored content in every state, for the console: files, runs, documents and tables of a workspace with a vault."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx2

from stanch.secrets.encodings import forms
from stanch.secrets.text import Secret
from stanch.values.identity import Principal
from tests.console.visitors import Visitor
from tests.http.served import BY, PERSON, WORKFLOW, World

PAGE = "/console/content"
NAME, LABEL = "STRIPE_KEY", "{{STRIPE_KEY}}"
VALUE = "sk-live-4242+of/the=shop"
OTHER_NAME, OTHER = "DATABASE_URL", "postgres://app:hunter22@db.example.org/shop"
EXACT = {"Stanch-Secrets": f"{NAME}, {OTHER_NAME}"}
UNKNOWN = {"Stanch-Secrets": NAME, "Stanch-Secrets-Complete": "no"}
MARKUP = "<script>alert(1)</script>"


def keep(world: World) -> None:
    """Puts the values into the vault."""
    world.service.vault.set(NAME, Secret(VALUE), by=BY)
    world.service.vault.set(OTHER_NAME, Secret(OTHER), by=BY)


def send(
    world: World,
    method: str,
    path: str,
    body: Any,
    headers: dict[str, str] | None = None,
    principal: Principal = WORKFLOW,
) -> Any:
    """What a request is answered with, which has to succeed."""
    reply: httpx2.Response = world.client(principal).request(method, path, json=body, headers=headers or {})
    assert reply.status_code < 300, reply.text
    return reply.json()


def file(
    world: World,
    path: str,
    text: str,
    headers: dict[str, str] | None = None,
    *,
    principal: Principal = WORKFLOW,
    mine: bool = False,
) -> None:
    """Writes a file, of the state that the headers say; without any, nothing is recorded."""
    below = httpx2.URL(f"http://x/api/files/text/{path}").raw_path.decode()
    send(world, "PUT", f"{below}{'?mine=true' if mine else ''}", {"content": text}, headers, principal)


def run(world: World, name: str, headers: dict[str, str] | None = None, **fields: Any) -> str:
    """Records a run; returns its id."""
    return str(send(world, "POST", "/api/runs", {"name": name, **fields}, headers)["id"])


def document(world: World, title: str, text: str, headers: dict[str, str] | None = None, **fields: Any) -> str:
    """Adds a document; returns its id."""
    return str(send(world, "POST", "/api/knowledge/documents", {"title": title, "text": text, **fields}, headers)["id"])


def table(world: World, name: str, columns: dict[str, str], principal: Principal = WORKFLOW, **fields: Any) -> str:
    """Makes a table; returns its id."""
    made = {"name": name, "columns": [{"name": one, "type": kind} for one, kind in columns.items()], **fields}
    return str(send(world, "POST", "/api/tables", made, EXACT, principal)["id"])


def rows(world: World, table_id: str, *cells: dict[str, Any], headers: dict[str, str] | None = None) -> None:
    """Adds rows to a table."""
    send(world, "POST", f"/api/tables/{table_id}/rows", {"rows": list(cells)}, headers)


def share(world: World, path: str, principal: Principal = PERSON) -> str:
    """Makes a public link to a file; returns its token."""
    return str(send(world, "POST", "/api/links", {"path": path}, None, principal)["token"])


def hrefs(text: str, below: str) -> list[str]:
    """The addresses on a page that lead below the pages of content, as a browser follows them."""
    return [unescape(one) for one in re.findall(rf'(?:href|hx-get)="({PAGE}{below}[^"]*)"', text)]


def assert_clean(text: str) -> None:
    """Fails where a value of the vault stands in a page, in whatever encoding."""
    said = unescape(text).encode()
    assert not any(form in said for value in (VALUE, OTHER) for form in forms(value))


def badge(visitor: Visitor, text: str) -> str:
    """What the first badge of a list says, once it was looked up."""
    return visitor.get(hrefs(text, "/badge")[0])


def file_page(path: str, **fields: object) -> str:
    query = "".join(f"&{name}={value}" for name, value in fields.items())
    return f"{PAGE}/file?path={quote(path)}{query}"


def revoke(visitor: Visitor, path: str, link: str, status: int) -> None:
    """Sends the form that ends a public link."""
    fields = {"key": visitor.key, "path": path, "link": link}
    assert visitor.client.post(f"{PAGE}/unshare", data=fields).status_code == status
