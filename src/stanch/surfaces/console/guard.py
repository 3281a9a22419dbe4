"""What surrounds every page: who may see it, where a form was sent from, the headers, and what is said of a failure.

Settles that nothing is shown or changed without a login, that a change comes from a form of that very login, and which
headers a page carries. Does not settle what any page shows. INVARIANT: a token stands in a form's body only, never in
an address, a log or a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from stanch.app.permissions import Right
from stanch.app.service import Service
from stanch.surfaces.console.failing import Failing, Refused
from stanch.surfaces.console.logins import Login, Logins
from stanch.surfaces.console.rendering import rendered

LOGIN = "/login"
HOME = "/console/inbox"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # WHY not no-referrer: a browser would then send a form without saying where it comes from.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 200


class Said(NamedTuple):
    """What a person is told of what they, or somebody else, just did. `id` names what it is about."""

    id: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of somebody who is logged in. `fields` are the form's, and the address's where it is no form."""

    service: Service
    login: Login
    fields: Mapping[str, list[str]]
    parameters: Mapping[str, str]
    in_page: bool
    end_login: Callable[[], None]

    @property
    def failing(self) -> Failing:
        """What says what is said of a failure."""
        return Failing(self.service.projecting.told)

    def get(self, name: str, otherwise: str = "") -> str:
        """The field's value, the last where there are several."""
        return self.fields.get(name, [otherwise])[-1]

    def page(self, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
        """A page, or a piece of one, that knows who is logged in."""
        return html(rendered(template, login=self.login, key=self.login.form_key, **values), status)


Answering = Callable[[Asked], Response]


def html(text: str, status: int = 200) -> HTMLResponse:
    """A page with the headers that every page has."""
    return HTMLResponse(text, status, HEADERS)


def goes_to(path: str) -> Response:
    """The answer to a form: look there now."""
    return RedirectResponse(path, 303, HEADERS)


class Guard:
    """The guard of one application's console."""

    def __init__(self, service: Service, logins: Logins) -> None:
        self.service, self.logins = service, logins

    def page(self, path: str, answering: Answering) -> Route:
        """A page that is read."""
        return self._route(path, "GET", answering, Right.READ)

    def form(self, path: str, answering: Answering) -> Route:
        """A form that changes something."""
        return self._route(path, "POST", answering, Right.CHANGE)

    def question(self, path: str, answering: Answering) -> Route:
        """A form that asks something and changes nothing."""
        return self._route(path, "POST", answering, Right.READ)

    def _route(self, path: str, method: str, answering: Answering, right: Right) -> Route:
        async def answer(request: Request) -> Response:
            body = await request.body() if method == "POST" else b""
            return await run_in_threadpool(self._answered, request, body, answering, right)

        return Route(path, answer, methods=[method], include_in_schema=False)

    def _answered(self, request: Request, body: bytes, answering: Answering, right: Right) -> Response:
        in_page = request.headers.get("hx-request") == "true"
        try:
            login = self.login_of(request)
            if login is None:
                return _to_login(in_page)
            fields = _fields(request, body, login, right)
            return answering(
                Asked(self.service, login, fields, request.path_params, in_page, partial(self._end_login, request))
            )
        except Exception as fault:
            return self._failed(fault, in_page)

    @property
    def failing(self) -> Failing:
        """As that of `Asked`, for where nobody is logged in yet."""
        return Failing(self.service.projecting.told)

    def _failed(self, fault: Exception, in_page: bool) -> Response:
        status, words = self.failing.said_of(fault)
        template = "said.html.j2" if in_page else "failed.html.j2"
        return html(rendered(template, said=[Said("", "deny", words)], login=None), status)

    def _end_login(self, request: Request) -> None:
        self.logins.end(request.cookies.get(cookie_of(request), ""))

    def login_of(self, request: Request) -> Login | None:
        """The login of whoever asks; None for none."""
        login_id = request.cookies.get(cookie_of(request))
        return None if not login_id else self.logins.find(login_id)


def cookie_of(request: Request) -> str:
    """The name of the cookie. WHY with the port: a browser does not tell two servers of one machine apart by it."""
    server = request.scope.get("server")
    return f"stanch_console_{server[1]}" if server else "stanch_console"


def _fields(request: Request, body: bytes, login: Login, right: Right) -> dict[str, list[str]]:
    """What was sent, by somebody who may. Raises `Refused`."""
    if right not in login.caller.rights:
        raise Refused(403, "You may not do this.")
    if request.method != "POST":
        try:
            return parse_qs(request.url.query, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            raise Refused(400, "There are too many fields in this address.") from None
    fields = form_of(request, body)
    if not login.sent_by(fields.get("key", [""])[-1]):
        raise Refused(403, "This form is not one of your login's. Load the page again.")
    return fields


def form_of(request: Request, body: bytes) -> dict[str, list[str]]:
    """The fields of a form that a page of this very server sent. Raises `Refused`."""
    origin = urlsplit(request.headers.get("origin", "")).netloc.lower()
    site = request.headers.get("sec-fetch-site", "same-origin")
    if not origin or origin != request.headers.get("host", "").lower() or site != "same-origin":
        raise Refused(403, "This form was not sent from a page of this server.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise Refused(415, "This is no form.")
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refused(400, "This form cannot be read.") from None


def _to_login(in_page: bool) -> Response:
    if in_page:
        return Response(status_code=401, headers={**HEADERS, "HX-Redirect": LOGIN})
    return goes_to(LOGIN)
