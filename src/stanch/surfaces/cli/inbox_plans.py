"""`stanch inbox plan`: the calls of one plan that wait, and one answer to all of them or to some.

Settles the command, and that it answers only for what was shown before. Does not settle what an answer does
(`app.plans`).
INVARIANT: an answer takes the mark of a showing. It is a digest of every request that waited then, so that none that
came since, or is another by now, is answered unseen.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import inbox_words, terminal
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption, client_for
from stanch.surfaces.cli.inbox_asking import EXIT_LATE, NoteOption, asked, request_id
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

_MARK_LENGTH = 16
Rows = list[dict[str, Any]]


def plan(  # noqa: PLR0917 - typer calls it by name
    plan_id: Annotated[str, typer.Argument(metavar="PLAN", help="The plan, as `stanch inbox list` names it.")],
    approve: Annotated[
        str | None, typer.Option("--approve", metavar="MARK", help="Approve what was shown with this mark.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", metavar="MARK", help="Reject what was shown with this mark.")
    ] = None,
    only: Annotated[
        list[int] | None, typer.Option("--only", metavar="N", min=1, help="Only this call of it. Can be repeated.")
    ] = None,
    note: NoteOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every call of a plan that waits, with a mark; with that mark, approve or reject them all, or some."""
    if approve is not None and reject is not None:
        raise BadInput("either --approve or --reject")
    mark = approve if approve is not None else reject
    if mark is None and (only or note is not None):
        raise BadInput("--only and --note need --approve or --reject beside them")
    client = client_for(url, token, data)
    found = asked(lambda: client.get(f"/api/inbox/plans/{request_id(plan_id)}"))
    waiting = [one for one in found["requests"] if one.get("state") == "open"]
    if mark is None:
        _show(found, waiting, as_json)
        return
    if mark != mark_of(waiting):
        terminal.complain("the plan is not what was shown with this mark; look at it again. Nothing was answered")
        raise typer.Exit(EXIT_LATE)
    wanted = _chosen(waiting, only)
    body: dict[str, Any] = {"action": "reject" if approve is None else "approve", "requests": wanted}
    if note is not None:
        body["note"] = note
    done = asked(lambda: client.post(f"/api/inbox/plans/{request_id(plan_id)}/resolve", body))
    _tell(done, as_json)
    if any(one["why"] is not None for one in done["answered"]):
        raise typer.Exit(EXIT_LATE)


def mark_of(waiting: Rows) -> str:
    """The mark of a showing of these requests."""
    shown = sorted([one["request_id"], one["fingerprint"]] for one in waiting)
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:_MARK_LENGTH]


def _chosen(waiting: Rows, only: list[int] | None) -> list[dict[str, str]]:
    """The requests that are answered, as they were shown. Raises `BadInput`."""
    places = {one["plan_place"] + 1 for one in waiting}
    unknown = [number for number in only or () if number not in places]
    if unknown:
        raise BadInput(f"call {unknown[0]} of the plan does not wait")
    if not waiting:
        raise BadInput("no call of the plan waits")
    chosen = [one for one in waiting if not only or one["plan_place"] + 1 in only]
    return [{"request_id": one["request_id"], "fingerprint": one["fingerprint"]} for one in chosen]


def _show(found: dict[str, Any], waiting: Rows, as_json: bool) -> None:
    if as_json:
        terminal.out_json({**found, "mark": mark_of(waiting)})
        return
    for one in found["requests"]:
        if "problem" in one:
            terminal.out(f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}")
            continue
        if one["state"] != "open":
            what = f"call {one['plan_place'] + 1}  {visible(one['tool_name'])}"
            terminal.out(f"{what}  {visible(one['state'])} by {visible(str(one['resolved_by']))}")
            continue
        terminal.out(f"call {one['plan_place'] + 1}")
        inbox_words.show_request(one)
    if not waiting:
        terminal.out("nothing of it waits")
        return
    mark = mark_of(waiting)
    calls = "call waits" if len(waiting) == 1 else "calls wait"
    terminal.out(f"{len(waiting)} {calls}; answer them with --approve {mark} or --reject {mark}, some with --only N")


def _tell(done: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.out_json(done)
        return
    for one in done["answered"]:
        request = one["request"]
        what = one["request_id"]
        if request is not None:
            what = f"call {request['plan_place'] + 1}  {visible(request['tool_name'])}"
        why = "" if one["why"] is None else f": {visible(one['why'])}"
        terminal.out(f"{visible(one['outcome'].replace('_', ' '))}  {what}{why}")
    if done["waiting"]:
        terminal.out(f"{len(done['waiting'])} of it still wait")
