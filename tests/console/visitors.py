"""Those who use the console in tests: one that sends forms, and one that sits at a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx2

from stanch.values.approval import ApprovalRecord, ApprovalState, CallRecord
from stanch.values.identity import Principal, PrincipalKind
from tests.http.served import BY, PERSON, PLAIN, SECONDS, World, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

BOB = Principal(PrincipalKind.USER, "bob")
_KEY = re.compile(r'name="key" value="([\w-]+)"')
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
POLICY += "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


def token_of(world: World, principal: Principal = PERSON) -> str:
    """A new token of the principal."""
    return world.store.create_token(name="test", principal=principal, by=BY).secret


def asking(world: World, tool: str, arguments: dict[str, Any], **session: Any) -> ApprovalRecord:
    """The request for approval of a new call, of a new session unless one is named."""
    session_id = session.pop("session_id", None) or world.session(**session)
    found = world.service.calls.submit(session_id, tool, arguments, by=BY).approval
    assert found is not None
    return found


def command(world: World, text: str = "make test") -> ApprovalRecord:
    """The request for approval of a shell command."""
    return asking(world, "execute_cmd", {"command": text})


def approval_of(world: World, asked: ApprovalRecord) -> ApprovalRecord:
    """The request as it stands now."""
    return world.service.inbox.approval(asked.request_id)


def call_of(world: World, asked: ApprovalRecord) -> CallRecord:
    """The call as it stands now."""
    return world.store.get_call(asked.call_id)


def resolved(world: World, asked: ApprovalRecord) -> ApprovalRecord:
    """The request, once it is not open any more."""
    until(lambda: approval_of(world, asked).state is not ApprovalState.OPEN, "an answer")
    return approval_of(world, asked)


def audited(world: World, subject: str) -> list[tuple[str, str, str]]:
    """Who did what through which door to the subject, by the audit log."""
    rows = world.rows(f"SELECT actor, surface, action FROM audit WHERE subject = '{subject}' ORDER BY seq")
    return [(str(actor), str(surface), str(action)) for actor, surface, action in rows]


class Visitor:
    """Somebody who reads pages and sends forms."""

    def __init__(self, world: World, principal: Principal = PERSON) -> None:
        self.world = world
        self.client = httpx2.Client(base_url=world.url, timeout=SECONDS, headers={"Origin": world.url}, verify=PLAIN)
        reply = self.client.post("/login", data={"token": token_of(world, principal)})
        assert reply.status_code == 303, reply.text
        self.key = self.key_on("/console/inbox")

    def get(self, path: str, status: int = 200) -> str:
        """The page."""
        reply = self.client.get(path)
        assert reply.status_code == status, reply.text
        return reply.text

    def key_on(self, path: str) -> str:
        """What the forms of a page hold to show whose they are."""
        found = _KEY.search(self.get(path))
        assert found is not None
        return found[1]

    def send(self, path: str, status: int = 200, *, in_page: bool = False, **fields: Any) -> str:
        """What a form is answered with."""
        headers = {"HX-Request": "true"} if in_page else {}
        reply = self.client.post(path, data={"key": self.key, **fields}, headers=headers)
        assert reply.status_code == status, reply.text
        return reply.text

    def answer(self, asked: ApprovalRecord, action: str, status: int = 200, **fields: str) -> str:
        """What an answer to a request is answered with."""
        path = f"/console/inbox/approvals/{asked.request_id}"
        return self.send(path, status, in_page=True, action=action, **fields)

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


class Person:
    """Somebody at a browser. Whatever the page complains of fails the test."""

    def __init__(
        self, world: World, browser: Browser, principal: Principal = PERSON, *, width: int = 1280, dark: bool = False
    ) -> None:
        self.world = world
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS * 1000)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.goto(f"{world.url}/login")
        self.page.fill("#token", token_of(world, principal))
        self.page.click("text=Log in")
        self.page.wait_for_selector("[data-live=yes]")
        self.calm()

    def calm(self) -> None:
        """Waits until what is new can be approved."""
        self.page.wait_for_selector("body:not(.unsettled)")

    def card(self, asked: ApprovalRecord) -> Locator:
        """The request's card."""
        return self.page.locator(f"#card-{asked.request_id}")

    def said(self) -> str:
        """What the page last said of an answer."""
        self.page.wait_for_selector("#said > li")
        return self.page.locator("#said > li").first.inner_text()

    def __enter__(self) -> Person:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            refused = [one for one in self.complaints if "status of 4" not in one]
            assert not refused
