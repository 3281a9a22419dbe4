"""How the inbox is shown on a terminal.

Settles words and lines. INVARIANT: whatever an agent wrote has its invisible and bidirectional characters escaped, and
no line of it can pass for one of Stanch's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client, Event

NEW = ("call.ask", "clarification.ask")
MOST_SHOWN = 200
_WIDE = 200


def show_list(found: dict[str, Any]) -> None:
    """Prints what waits, two lines each; the calls of a plan stand together, in its order."""
    if not found["total"]:
        terminal.out("nothing waits")
        return
    told: set[str] = set()
    for one in found["approvals"]:
        plan_id = one.get("plan_id")
        if plan_id is None:
            _show_waiting(one)
        elif plan_id not in told:
            told.add(plan_id)
            _show_plan(plan_id, [each for each in found["approvals"] if each.get("plan_id") == plan_id])
    for one in found["clarifications"]:
        _show_question(one)


def show_request(one: dict[str, Any]) -> None:
    """Prints a request whole."""
    state = one["state"] if one["resolved_by"] is None else f"{one['state']} by {one['resolved_by']}"
    terminal.out(f"{one['request_id']}  {visible(state)}")
    terminal.out(f"  tool      {visible(one['tool_name'])}")
    terminal.out(f"  agent     {visible(one['agent_id'])}, session {visible(one['session_id'])} ({one['source']})")
    if one["context_label"]:
        terminal.out(f"  for       {visible(one['context_label'])}")
    if one["cwd"] is not None:
        terminal.out(f"  works in  {visible(one['cwd'])}")
    terminal.out(f"  asks      {visible(one['reason'].get('sentence', ''))}{_mandated(one)}")
    if one["expires_at"] is not None:
        terminal.out(f"  expires   {one['expires_at']}")
    if one.get("holds_until") is not None:
        terminal.out(f"  holds     until {one['holds_until']}")
    if one["note"] is not None:
        terminal.out(f"  note      {visible(one['note'])}")
    for target in one["targets"]:
        what = target["path"] or target["subject"] or target["requested"]
        if what:
            terminal.out(f"  {target['class'] or 'call':<9} {visible(str(what))}")
    for path, digest in one["scripts"].items():
        terminal.out(f"  runs      {visible(path)}, sha256 {visible(str(digest))}")
    _block("arguments", [f"{key}: {_value(value)}" for key, value in one["arguments"].items()])
    if one["diff"] is not None:
        _block("changes", one["diff"].split("\n"))


def show_resolved(done: dict[str, Any]) -> None:
    """Prints what came of an answer."""
    if done["instead"] is not None:
        terminal.out(f"not approved yet: the edited call is asked about anew, as {done['instead']['request_id']}")
        terminal.out(f"  {visible(done['instead']['reason'].get('sentence', ''))}")
        return
    edited = ", edited" if done["call"]["edited"] else ""
    terminal.out(f"{done['request']['state']}{edited}: {visible(done['request']['tool_name'])}")
    if done["bypass"] is not None:
        show_bypass(done["bypass"])


def show_bypass(held: dict[str, Any]) -> None:
    """Prints what a bypass holds for."""
    what = {"category": f"{held['category']} calls", "mcp_server": f"calls of {held['mcp_server']}"}
    until = "until the session ends" if held["until"] is None else f"until {held['until']}"
    further = " and its subagents" if held["include_subagents"] else ""
    said = what.get(held["scope"], "all calls")
    terminal.out(f"asks about {visible(said)} of {visible(held['session_id'])}{further} are suspended {until}")


def told(
    client: Client, events: Iterator[Event], waiting: Callable[[Client], dict[str, Any]], *, as_json: bool
) -> Iterator[str]:
    """Prints what waits and then each event, as it happens; yields the action of each."""
    if not as_json:
        show_list(waiting(client))
    for event in events:
        if as_json:
            terminal.out(json.dumps({"id": event.id, "event": event.event, **event.data}))
        else:
            _tell(client, event)
        yield event.event


def _tell(client: Client, event: Event) -> None:
    kind, detail = event.event.partition(".")[0], event.data.get("detail", {})
    if event.event == "call.ask" and detail.get("request"):
        try:
            _show_waiting(client.get(f"/api/inbox/approvals/{detail['request']}"))
        except Exception:  # it may be gone by now, and the line below says all that is known
            terminal.out(f"{detail['request']}  {visible(str(detail.get('tool', '')))}")
    elif kind in ("approval", "clarification", "bypass"):
        by = visible(str(event.data.get("actor", "")))
        terminal.out(f"{visible(str(event.data.get('subject', '')))}  {event.event.replace('.', ' ')} by {by}")


def _show_waiting(one: dict[str, Any], before: str = "") -> None:
    if "problem" in one:
        terminal.out(f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}")
        return
    label = f", {visible(one['context_label'])}" if one["context_label"] else ""
    terminal.out(f"{before}{one['request_id']}  {visible(one['tool_name'])}  ({visible(one['agent_id'])}{label})")
    terminal.out(f"{' ' * len(before)}    {visible(one['reason'].get('sentence', ''))}{_mandated(one)}")


def _mandated(one: dict[str, Any]) -> str:
    return "; only a person may answer, each time" if one.get("mandated") else ""


def _show_plan(plan_id: str, rows: list[dict[str, Any]]) -> None:
    calls = "1 call" if len(rows) == 1 else f"{len(rows)} calls"
    terminal.out(f"{plan_id}  a plan of which {calls} wait{'s' if len(rows) == 1 else ''}")
    for one in sorted(rows, key=lambda each: int(each["plan_place"])):
        _show_waiting(one, f"  {one['plan_place'] + 1}  ")


def _show_question(one: dict[str, Any]) -> None:
    if "problem" in one:
        terminal.out(f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}")
        return
    terminal.out(f"{one['request_id']}  asks  ({visible(one['agent_id'])})")
    terminal.out(f"    {_value(one['question'])}")
    for choice in one["choices"]:
        terminal.out(f"    - {_value(choice)}")


def _block(name: str, lines: list[str]) -> None:
    """Prints lines of an agent, each behind a bar, so that none of them passes for one of ours."""
    terminal.out(f"  {name}")
    for line in lines[:MOST_SHOWN]:
        terminal.out(f"    | {visible(line)}")
    if len(lines) > MOST_SHOWN:
        terminal.out(f"    … {len(lines) - MOST_SHOWN:,} more lines; --json prints all")


def _value(value: Any) -> str:
    text = visible(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _WIDE * 10 else f"{text[: _WIDE * 10]}… ({len(text):,} characters; --json prints all)"
