"""A turn of an agent as a person sees it on a terminal, and where it stops for their answer.

Settles what is printed of each thing that happens, and when an answer is asked for. Does not settle who answers
(`chat`, `demo`), nor what happens. INVARIANT: what an agent or a tool wrote is printed with its control characters
escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client, Event, Refusal
from stanch.values.fault import BadInput

MOST_SHOWN = 200


class Answering(Protocol):
    """Answers for the person."""

    def approval(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The body that resolves a request for approval; None where it is left to wait."""

    def question(self, question: dict[str, Any]) -> str | None:
        """The answer to a question; None where it is left to wait."""


class Following:
    """Prints one session. `answering` is asked where something waits for a person, in it or in one below it.

    `attached` are the paths of stored files that go with what is said next.
    """

    def __init__(self, client: Client, session_id: str, answering: Answering) -> None:
        self._client, self._session_id, self._answering = client, session_id, answering
        self._after = 0
        self._turn_id = ""
        self._said = ""  # what a model has said of an answer that is not stored yet
        self._told: set[str] = set()
        self._answered: set[str] = set()
        self.attached: list[str] = []

    def start_behind(self) -> None:
        """Prints nothing of what is stored by now."""
        found = self._client.get(f"/api/sessions/{self._session_id}/messages", limit=1)
        self._after = int(found["total"])

    def say(self, text: str, *, mentions: bool = False) -> dict[str, Any]:
        """Says something to the agent, and prints what comes of it until its turn has ended; returns the turn.

        With `mentions`, words with `@` in front mention files.
        """
        attached, self.attached = self.attached, []
        said = {"text": text, "mentions": mentions, **({"attachments": attached} if attached else {})}
        turn = self._client.post(f"/api/sessions/{self._session_id}/messages", said)
        self._turn_id = str(turn["id"])
        while turn["state"] == "running":
            for event in self._events():
                if event.event == "turn" and event.data.get("id") == turn["id"]:
                    turn = event.data
                    if turn["state"] != "running":
                        break
                else:
                    self._happened(event)
                self._answer_what_waits()
            else:
                turn = self._client.get(f"/api/turns/{turn['id']}")
        self._end_line()
        self._rest()
        return dict(turn)

    def stopped(self) -> dict[str, Any]:
        """The turn that was under way, stopped by the person, or as it ended just before."""
        self._end_line()
        try:
            turn = self._client.post(f"/api/turns/{self._turn_id}/stop", {})
        except Refusal:
            turn = self._client.get(f"/api/turns/{self._turn_id}")
        self._rest()
        return dict(turn)

    def _events(self) -> Iterator[Event]:
        return self._client.events(str(self._after), path=f"/api/sessions/{self._session_id}/live")

    def _happened(self, event: Event) -> None:
        match event.event:
            case "text":
                self._words(str(event.data.get("text", "")))
            case "message":
                self._message(event.data)
            case "call":
                self._call(event.data)
            case "note":
                self._end_line()
                terminal.out(terminal.dimmed(f"  {visible(str(event.data.get('words', '')))}"))

    def _words(self, text: str) -> None:
        """Prints words of a model as they come."""
        terminal.out_words("\n".join(visible(line) for line in text.split("\n")))
        self._said += text

    def _end_line(self) -> None:
        """Ends the line that words of a model stand on."""
        if self._said and not self._said.endswith("\n"):
            terminal.out()
            self._said += "\n"

    def _message(self, message: dict[str, Any]) -> None:
        self._after = max(self._after, int(message.get("seq", 0)))
        if message.get("role") != "assistant":
            return
        said = "".join(part["text"] for part in message.get("parts", ()) if part.get("type") == "text")
        seen, self._said = self._said.rstrip("\n"), ""
        # What was not told as it was written, or not from its beginning, is told now.
        if not seen or not said.startswith(seen):
            self._words(said)
        else:
            self._said = seen
            self._words(said[len(seen) :])
        self._end_line()
        self._said = ""

    def _call(self, call: dict[str, Any]) -> None:
        state = str(call.get("state"))
        key = f"{call.get('id')}:{state}"
        if key in self._told:
            return
        self._told.add(key)
        self._end_line()
        what = f"{visible(str(call.get('tool')))} {shown_arguments(call.get('arguments'))}"
        sentence = visible(str(call.get("reason", {}).get("sentence", "")))
        match state:
            case "awaiting_approval":
                terminal.out(f"  ? {what}\n      waits: {sentence}")
            case "running":
                terminal.out(f"  › {what}")
            case "completed":
                withheld = int(call.get("withheld") or 0)
                if withheld:
                    terminal.out(terminal.dimmed(f"    {withheld} withheld"))
            case "rejected" | "cancelled" | "interrupted":
                terminal.out(f"  ✗ {what}\n      {sentence}")
            case "failed":
                terminal.out(f"  ! {visible(str(call.get('tool')))} failed")

    def _answer_what_waits(self) -> None:
        """Has everything answered that waits for a person in the session, and in those below it."""
        for session_id in self._family():
            found = self._client.get("/api/inbox", session_id=session_id)
            for request in found["approvals"]:
                if "problem" not in request and request["request_id"] not in self._answered:
                    self._resolve(request)
            for question in found["clarifications"]:
                if "problem" not in question and question["request_id"] not in self._answered:
                    self._reply(question)

    def _family(self) -> list[str]:
        found, following = [self._session_id], [self._session_id]
        while following:
            below = self._client.page("/api/sessions", parent_id=following.pop(), ended="false", limit=100)
            ids = [str(one["id"]) for one in below if "problem" not in one]
            found += ids
            following += ids
        return found

    def _resolve(self, request: dict[str, Any]) -> None:
        # WHY: what waits is known by asking, and may be known before the stream tells of the call. Nobody is to read an
        # answer above what it answers.
        self._call(_waiting(request))
        self._end_line()
        self._answered.add(str(request["request_id"]))
        body = self._answering.approval(request)
        if body is not None:
            self._post(f"/api/inbox/approvals/{request['request_id']}/resolve", body)

    def _reply(self, question: dict[str, Any]) -> None:
        self._end_line()
        self._answered.add(str(question["request_id"]))
        answer = self._answering.question(question)
        if answer is not None:
            self._post(f"/api/inbox/clarifications/{question['request_id']}/resolve", {"answer": answer})

    def _post(self, path: str, body: dict[str, Any]) -> None:
        try:
            self._client.post(path, body)
        except Refusal as why:
            terminal.out(f"      {visible(str(why))}")

    def _rest(self) -> None:
        """Makes sure that nothing that is stored by now is printed the next time."""
        try:
            self.start_behind()
        except (BadInput, Refusal):
            return


def _waiting(request: dict[str, Any]) -> dict[str, Any]:
    """The call that a request is about, as the stream tells of it."""
    return {
        "id": request["call_id"],
        "state": "awaiting_approval",
        "tool": request["tool_name"],
        "arguments": request["arguments"],
        "reason": request["reason"],
    }


def shown_arguments(arguments: Any) -> str:
    """A call's arguments in one short line."""
    if not isinstance(arguments, dict):
        return ""
    only = next(iter(arguments.values())) if len(arguments) == 1 else None
    text = only if isinstance(only, str) else json.dumps(arguments, ensure_ascii=False)
    text = visible(" ".join(text.split()))
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
