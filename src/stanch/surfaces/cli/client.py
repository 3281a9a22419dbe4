"""The command line as a client of a running server.

Settles which server is asked, with which token, and what is said where it gives no answer. Does not settle what is
asked (`inbox`). INVARIANT: the token goes to the server and nowhere else, not with a redirect and not into a message.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from stanch.surfaces import finding
from stanch.values.fault import BadInput

SECONDS = 30.0
QUIET_SECONDS = 60.0
"""How long a stream may say nothing, not even that it is there."""

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        envvar="STANCH_URL",
        show_envvar=False,
        help="The server. Without it: $STANCH_URL, else the one that runs on the data directory.",
        show_default=False,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="STANCH_TOKEN",
        show_envvar=False,
        help="The token. Without it: $STANCH_TOKEN, which keeps it out of the list of processes, else the "
        "administrator's.",
        show_default=False,
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The server's data directory. Without it: that of `stanch up` in this directory.",
        show_default=False,
    ),
]


class Refusal(Exception):
    """What the server said in place of an answer. `problem` is all of it."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        super().__init__(str(problem.get("detail") or f"the server answered with the status {status}"))


class Event(NamedTuple):
    """One event of the stream."""

    id: str
    event: str
    data: dict[str, Any]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any) -> None:
        """Follows none."""
        return


@dataclass(frozen=True, slots=True)
class Client:
    """A server to be asked."""

    url: str
    token: str

    def get(self, path: str, **query: Any) -> Any:
        """What stands at an address."""
        given = {key: value for key, value in query.items() if value is not None}
        return self._json("GET", path + (f"?{urllib.parse.urlencode(given)}" if given else ""))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to something that is sent."""
        return self._json("POST", path, body)

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to something that is put at an address."""
        return self._json("PUT", path, body)

    def delete(self, path: str) -> Any:
        """The answer to something being removed, or revoked."""
        return self._json("DELETE", path)

    def events(self, after: str | None = None, *, path: str = "/api/events") -> Iterator[Event]:
        """The events from now on, or from behind one that was seen, until the server stops. Raises `BadInput`."""
        headers = {} if after is None else {"Last-Event-ID": after}
        fields: dict[str, str] = {}
        with self._opened("GET", path, None, headers, QUIET_SECONDS) as stream:
            try:
                for raw in stream:
                    line = raw.decode("utf-8", "replace").rstrip("\r\n")
                    if line and not line.startswith(":"):
                        name, _, value = line.partition(": ")
                        fields[name] = value
                    elif not line and "data" in fields:
                        yield Event(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))
                        fields = {}
            except (OSError, HTTPException, ValueError):
                return

    def page(self, path: str, **query: Any) -> list[Any]:
        """The items of one page of a list."""
        return list(self.get(path, **query)["items"])

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        with self._opened(method, path, body, {}, SECONDS) as answer:
            try:
                return json.loads(answer.read())
            except (OSError, HTTPException, ValueError):
                raise BadInput(f"what answers at {self.url} is no Stanch server") from None

    def _opened(self, method: str, path: str, body: Any, headers: dict[str, str], seconds: float) -> Any:
        if body is None:
            return self.opened(method, path, None, headers, seconds)
        given = {**headers, "Content-Type": "application/json"}
        return self.opened(method, path, json.dumps(body).encode(), given, seconds)

    def opened(
        self, method: str, path: str, raw: bytes | Iterable[bytes] | None, headers: Mapping[str, str], seconds: float
    ) -> Any:
        """The answer, to be read and closed. Raises `Refusal`, and `BadInput` where there is none.

        A body that comes in pieces needs its `Content-Length` among the headers.
        """
        given = {"Authorization": f"Bearer {self.token}", **headers}
        # WHY no proxy for loopback: what runs on this machine is reached without one.
        handlers: list[Any] = [_NoRedirect]
        if urllib.parse.urlsplit(self.url).hostname in ("127.0.0.1", "::1", "localhost"):
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            request = urllib.request.Request(self.url + path, raw, given, method=method)  # noqa: S310 - `client_for`
            return urllib.request.build_opener(*handlers).open(request, timeout=seconds)
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, HTTPException, ValueError) as error:
            why = getattr(error, "reason", error)
            if getattr(why, "reason", None) == "WRONG_VERSION_NUMBER":
                raise BadInput(f"the server at {self.url} speaks no TLS; write http:// in its address") from None
            said = (getattr(why, "strerror", None) or str(why) or type(why).__name__).lower()
            raise BadInput(f"the server at {self.url} gives no answer: {said}") from None


def client_for(url: str | None, token: str | None, data: Path | None) -> Client:
    """The server that is meant. Raises `BadInput` where there is none."""
    if url is not None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise BadInput("--url must be an address such as http://127.0.0.1:8137")
        if not token:
            raise BadInput("--url needs a token: give it with --token or STANCH_TOKEN")
        return Client(url.rstrip("/"), token)
    try:
        from stanch.app.settings import settings_of
        from stanch.app.wiring import reached
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "stanch":
            raise
        raise BadInput(
            f"to find the server of a data directory, packages are needed that are not installed ({missing.name} is "
            "missing): pip install 'stanch[server]', or name the server with --url and --token"
        ) from None

    finding.current_directory()
    policy = None if data is not None else finding.nearest_policy()
    found = reached(settings_of(policy=policy, data=None if data is None else Path(os.path.abspath(data))))
    return Client(found.url, token or found.token)


def _refusal(error: urllib.error.HTTPError) -> Refusal:
    with error:
        try:
            problem = json.loads(error.read())
        except (OSError, HTTPException, ValueError):
            problem = {}
    return Refusal(error.code, problem if isinstance(problem, dict) else {})
