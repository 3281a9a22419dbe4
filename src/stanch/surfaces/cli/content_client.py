"""The command line as a client of stored content: for a person, and for a model that acts in a session.

Settles how a request names the session, what is done where a person has to be asked first, and how bytes go up and come
down. Does not settle any command (`files`, ...). INVARIANT: what is not there as a whole never has its final name, and
nothing that is there already is written over unless that was asked for.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn, TypeVar
from urllib.parse import quote, urlencode

import typer

from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client, Refusal, client_for
from stanch.surfaces.cli.content_progress import Moved, progress_bar
from stanch.values.fault import BadInput

SECONDS = 300.0
BLOCK = 1 << 18
PAUSES = (0.2, 0.5, 1.0, 2.0)
EXIT_REFUSED = 1
T = TypeVar("T")
Headers = Mapping[str, str]
Send = Callable[[Headers], T]

SessionOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        envvar="STANCH_SESSION",
        show_envvar=False,
        help="The session in which a model calls. Without it: $STANCH_SESSION. A person needs none.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ContentClient:
    """A server whose stored content is asked for. `session_id` is that of a model, None for anybody else."""

    client: Client
    session_id: str | None = None

    def json(
        self,
        method: str,
        path: str,
        *,
        tool: str,
        arguments: Mapping[str, Any],
        query: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Any:
        """The answer of one operation. Ends the command where it is refused.

        `arguments` are the operation's, as far as they are not its defaults: they are what a person is asked about.
        """
        raw = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}

        def send(headers: Headers) -> Any:
            with self.client.opened(method, path + asked(query), raw, {**headers, **kind}, SECONDS) as answer:
                return read_json(answer, self.client.url)

        return asking(self, tool, arguments, send)

    def download(
        self,
        path: str,
        into: Path | None,
        *,
        tool: str,
        arguments: Mapping[str, Any],
        query: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> int:
        """Puts the bytes of one operation into a file, or on standard output for None; returns how many they were.

        The file gets its name once it is whole. Raises `BadInput` where there is one already, unless with `force`.
        """

        def send(headers: Headers) -> int:
            with self.client.opened("GET", path + asked(query), None, headers, SECONDS) as answer:
                length = answer.headers.get("Content-Length")
                size = int(length) if length is not None and length.isdigit() else None
                with progress_bar("download", size) as moved:
                    return _taken(answer, into, size, force=force, moved=moved)

        if into is not None:
            vacant(into, force=force)
        return asking(self, tool, arguments, send)

    def upload(
        self,
        method: str,
        path: str,
        file: BinaryIO,
        *,
        tool: str,
        arguments: Mapping[str, Any],
        query: Mapping[str, Any] | None = None,
        media_type: str = "application/octet-stream",
    ) -> Any:
        """The answer to the bytes of a file that can be read from its beginning again."""
        size = file.seek(0, os.SEEK_END)

        def send(headers: Headers) -> Any:
            file.seek(0)
            given = {**headers, "Content-Type": media_type, "Content-Length": str(size)}
            with progress_bar("upload", size) as moved:
                pieces = _pieces(file, moved)
                with self.client.opened(method, path + asked(query), pieces, given, SECONDS) as answer:
                    return read_json(answer, self.client.url)

        return asking(self, tool, arguments, send)


def content_client(url: str | None, token: str | None, data: Path | None, session_id: str | None) -> ContentClient:
    """The server that is meant. Raises `BadInput` where there is none."""
    return ContentClient(client_for(url, token, data), session_id or None)


def asking(to: ContentClient, tool: str, arguments: Mapping[str, Any], send: Send[T]) -> T:
    """What `send` gives. It is called with the headers of a request, and again where a person had to be asked first.

    Then the call is submitted, with a line on standard error, and waited for. Whatever is refused ends the command with
    one line and the exit code 1, a mistake with 2.
    """
    headers = {} if to.session_id is None else {"Stanch-Session": to.session_id}
    try:
        return send(headers)
    except Refusal as why:
        if to.session_id is None or not is_kind(why, "approval-needed"):
            refused(why)
    call_id = _approved(to.client, to.session_id, tool, arguments)
    try:
        return send({**headers, "Stanch-Call": call_id})
    except Refusal as why:
        refused(why)


def _approved(client: Client, session_id: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """The id of the call once a person has approved it. Ends the command where it is rejected."""
    try:
        made = client.post(
            f"/api/sessions/{quote(session_id, safe='')}/calls", {"tool": tool, "arguments": dict(arguments)}
        )
        call = made["call"]
    except Refusal as why:
        refused(why)
    except KeyError:
        raise BadInput(f"what answers at {client.url} is no Stanch server") from None
    return awaited(client, tool, call)


def awaited(client: Client, tool: str, call: dict[str, Any]) -> str:
    """The id of a call once a person has approved it. Ends the command where it is rejected.

    Where the command is interrupted, the call is taken back: nobody is asked for what nobody waits for any more.
    """
    told, turn, place = False, 0, f"/api/calls/{quote(str(call.get('id')), safe='')}"
    try:
        while call["state"] == "awaiting_approval":
            if not told:
                told = True
                terminal.progress(f"{tool} needs approval: waiting for a person (request {call['request_id']})")
            # WHY not the events: a model's token opens no stream of them.
            time.sleep(PAUSES[min(turn, len(PAUSES) - 1)])
            turn += 1
            call = client.get(place)
    except KeyboardInterrupt:
        with suppress(Refusal, BadInput):
            client.post(f"{place}/cancel", {})
            terminal.note("the request is taken back")
        raise
    except Refusal as why:
        refused(why)
    except KeyError:
        raise BadInput(f"what answers at {client.url} is no Stanch server") from None
    if call["state"] != "pending":
        reason = call["reason"]
        note = f" [{reason['note']}]" if reason.get("note") else ""
        terminal.complain(f"{tool} was not approved: {reason.get('sentence', call['state'])}{note}")
        raise typer.Exit(EXIT_REFUSED)
    return str(call["id"])


def refused(why: Refusal) -> NoReturn:
    """Ends the command: with 1 for what may not be, is not there or was changed meanwhile, with 2 for a mistake."""
    if why.status in (403, 404, 409):
        terminal.complain(str(why))
        raise typer.Exit(EXIT_REFUSED)
    raise BadInput(str(why))


def is_kind(why: Refusal, kind: str) -> bool:
    """True for a problem of this kind."""
    return str(why.problem.get("type", "")).rpartition(":")[2] == kind


def asked(query: Mapping[str, Any] | None) -> str:
    """What stands behind an address, nothing for what is None."""
    given = {
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in (query or {}).items()
        if value is not None
    }
    return f"?{urlencode(given, doseq=True)}" if given else ""


def read_json(answer: Any, url: str) -> Any:
    """The JSON of an answer. Raises `BadInput`."""
    try:
        return json.loads(answer.read())
    except (OSError, HTTPException, ValueError):
        raise BadInput(f"what answers at {url} is no Stanch server") from None


def vacant(path: Path, *, force: bool) -> None:
    """Raises `BadInput` where something is there already that is not to be written over."""
    if path.is_dir():
        raise BadInput(f"{path} is a directory")
    if not force and os.path.lexists(path):
        raise BadInput(f"{path} is there already; --force writes over it")


def _taken(answer: Any, into: Path | None, size: int | None, *, force: bool, moved: Moved) -> int:
    """Reads all of an answer. Raises `BadInput` where it does not come to its end."""
    if into is None:
        return _read(answer, terminal.out_bytes, size, moved)
    with whole_file(into, force=force) as file:
        return _read(answer, file.write, size, moved)


def _read(answer: Any, put: Callable[[bytes], Any], size: int | None, moved: Moved) -> int:
    done = 0
    try:
        while block := answer.read(BLOCK):
            put(block)
            done += len(block)
            moved(done)
    except (HTTPException, TimeoutError, ConnectionError):
        raise BadInput("the server stopped in the middle: nothing was kept") from None
    if size is not None and done != size:
        raise BadInput("the server stopped in the middle: nothing was kept")
    return done


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A file to be written within the block, which gets its name at the end of it, and is gone where the block fails.

    Raises `BadInput` where it cannot be written, or somebody else took the name meanwhile, unless with `force`.
    """
    draft: Path | None = None
    try:
        if force and path.exists() and not path.is_file():
            with open(path, "wb") as file:  # WHY: a device or a pipe has to stay what it is
                yield file
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
        draft = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        if force:
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        raise BadInput(f"{path} is there already; --force writes over it") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {(error.strerror or 'unknown').lower()}") from None
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _pieces(file: BinaryIO, moved: Moved) -> Iterator[bytes]:
    done = 0
    while block := file.read(BLOCK):
        yield block
        done += len(block)
        moved(done)
