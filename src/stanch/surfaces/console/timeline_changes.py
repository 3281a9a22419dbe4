"""What was changed of a session itself, as its timeline tells it: its model, its context, its end, answers to a tier.

Settles which rows of the audit log become notes, and how each reads. Does not settle where they stand (`timeline`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from stanch.app.agent_settings import AGENTS
from stanch.values.records import Actor, AuditRecord

MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """Something that was changed, or came to an end. `link` is where more of it can be read."""

    id: str
    at: datetime
    tone: str
    words: str
    detail: str = ""
    link: str = ""
    kind: str = "note"


def changes(session_id: str, rows: Sequence[AuditRecord]) -> Iterator[NoteEntry]:
    """The changes of a session, oldest first. What its head shows is none, nor is what changes nothing."""
    for at, row in enumerate(rows):
        following = rows[at + 1] if at + 1 < len(rows) else None
        if _is_told_by(row, following):
            continue
        note = _note(session_id, row)
        if note is not None:
            yield note


def _is_told_by(row: AuditRecord, following: AuditRecord | None) -> bool:
    """True for a new model where the very next row says what that hides."""
    if row.action != "session.set_model" or following is None or following.action != "session.switch":
        return False
    return bool(row.actor == following.actor and row.detail.get("model") == following.detail.get("to"))


def _note(session_id: str, row: AuditRecord) -> NoteEntry | None:
    detail: Mapping[str, Any] = row.detail
    by = f"{row.actor} ({row.surface})"
    place = f"row-{row.seq}"
    match row.action:
        case "session.set_model":
            return NoteEntry(place, row.at, "model", _set_model(row, by))
        case "session.switch":
            model, before = detail.get("to"), detail.get("from")
            words = f"{by} set the model to {model}" + (f" in place of {before}" if before else "")
            link = f"/console/sessions/{quote(session_id, safe='')}/sent?model={quote(str(model), safe='')}"
            return NoteEntry(place, row.at, "model", words, _hidden(detail), link)
        case "tier.answer":
            return _answered(place, row, by)
        case "session.set_run_context":
            return NoteEntry(place, row.at, "none", f"{by} gave the session another context", _context(detail))
        case "session.end":
            return NoteEntry(place, row.at, "none", f"{by} ended the session")
        case _:
            return None


def _set_model(row: AuditRecord, by: str) -> str:
    model = row.detail.get("model")
    if model is None:
        return f"{by} took the model away"
    if Actor(row.actor, row.surface) == AGENTS:
        return f"The model is {model}, as the policy file says of the agent"
    return f"{by} set the model to {model}"


def _hidden(detail: Mapping[str, Any]) -> str:
    """What a switch hid from the new model at that moment."""
    said = []
    if withheld := detail.get("withheld"):
        said.append(f"{_count(withheld, 'piece')} of {_count(detail.get('paths'), 'path')} withheld from it")
    if asks := detail.get("asks"):
        said.append(f"{_count(asks, 'path')} to be answered for")
    return f"in the tier {detail.get('tier')}, {'; '.join(said) or 'with all of the conversation'}"


def _answered(place: str, row: AuditRecord, by: str) -> NoteEntry | None:
    """What a person said where a tier asked: by itself, or by approving a call."""
    given = [one for one in row.detail.get("answers", ()) if isinstance(one, Mapping)]
    if not given:
        return None
    tiers = " and ".join(dict.fromkeys(str(one.get("tier")) for one in given))
    yes = sum(bool(one.get("send")) for one in given)
    tone = "allow" if yes == len(given) else "deny" if not yes else "ask"
    said = [_said(one) for one in given[:MOST_NAMED]]
    if len(given) > MOST_NAMED:
        said.append(f"{len(given) - MOST_NAMED:,} more, {yes:,} of all with a yes")
    return NoteEntry(place, row.at, tone, f"{by} answered where the tier {tiers} asks", "; ".join(said))


def _said(one: Mapping[str, Any]) -> str:
    cls, path, send = str(one.get("class")), one.get("path") or "what has no path", bool(one.get("send"))
    if cls == "read":
        return f"{path} {'may be sent' if send else 'is withheld'}"
    return f"{cls} at {path} {'may be' if send else 'may not be'}"


def _context(detail: Mapping[str, Any]) -> str:
    if "security_group" not in detail:
        return "None any more"
    said = [f"the group {detail['security_group']}"] if detail["security_group"] else []
    said += [f"works in {detail['working_directory']}"] if detail.get("working_directory") else []
    said += [f"may write {one}" for one in detail.get("allow_fs_writes", ())]
    said += [f"may read {one}" for one in detail.get("allow_fs_reads", ())]
    return "; ".join(said) or "An empty one"


def _count(number: object, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
