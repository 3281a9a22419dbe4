"""Cases about conversations through doors that filter what they are handed.

A door cannot be asked for the tags that it worked out; it can be asked what it withholds from a model that may not read
one path. What it must withhold then follows from the tags that the case wants.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import stanch
from stanch.app.case_places import Place
from stanch.app.case_records import Case, Conversed, History, Send
from stanch.app.case_told import Mismatch
from stanch.app.foreign_tags import shipped_shapes
from stanch.tiers.dialects import conversation, ours
from stanch.tiers.history import Redacted, redact_history
from stanch.tiers.history_verdicts import reading
from stanch.tiers.report import Report
from stanch.tiers.tags import tag_messages
from stanch.values.fault import Fault
from stanch.values.message import Message, Origin, Part, Result, SourceTag, Text

OPEN = "open/model"


class Asked(Protocol):
    """Asks a door to filter: what it said, as JSON. Raises a `Fault` with its words where it refused."""

    def __call__(self, policy: Path, given: Any, model: str, /, **options: Any) -> Any: ...


def expresses(case: Case) -> bool:
    """True for conversations in which a door finds no further tags, with answers that can be written as paths."""
    for act in case.acts:
        if isinstance(act, History):
            said = [*act.messages, *(message for send in act.sends for message in send.more)]
            if any(new is not old for new, old in zip(_tagged(said), said, strict=True)):
                return False
            if any(below for send in act.sends for _, _, below in send.answers):
                return False
        elif not isinstance(act, Conversed):
            return False
    return True


def _tagged(messages: Sequence[Message]) -> list[Message]:
    return tag_messages(
        messages, shapes=shipped_shapes(), cwd=None, canonical=lambda path, base: posixpath.normpath(f"{base}/{path}")
    )


def sent(ask: Asked, place: Place, said: Sequence[Message], send: Send) -> Redacted:
    """A send through a door. A message that comes back as it was is the one that was given."""
    answers = {
        key: [place.mapped(path) for path, yes, _ in send.answers if yes is wanted]
        for key, wanted in (("send", True), ("withhold", False))
    }
    rows = ours.write_messages(list(said))
    got = ask(place.real(place.policy), rows, send.to, answers=answers, quotes=None if send.quotes else False)
    left = ours.read_messages(got["messages"])
    assert all(row["messages"] > 0 for row in got["withheld"])
    report = got["report"]
    assert {row["path"] for row in got["withheld"]} == {*report["pieces"], *report["quotes"]}
    assert {row["tier"] for row in got["withheld"]} <= {report["tier"]}
    return Redacted(
        [old if new == old else new for new, old in zip(left, said, strict=True)],
        Report(report["label"], report["pieces"], report["quotes"], tuple(report["asks"]), report["unsent"]),
    )


def conversed(ask: Asked, place: Place, act: Conversed) -> list[Mismatch]:
    """Another program's conversation through a door: to a model that may read all, and to some that may not."""
    row, key = act.row, "body" if isinstance(act.row["given"], dict) else "messages"
    names = sorted({name for part in row.get("tags", {}).values() for name in _words(part)})
    policy = place.real("/repo/probes.toml")
    policy.write_text(_policy([_denied(name) for name in names]), "utf-8")
    options = {} if row.get("cwd", "/repo") is None else {"cwd": row.get("cwd", "/repo")}
    try:
        got = ask(policy, row["given"], OPEN, **options)
    except Fault as why:
        wanted = row.get("fault")
        return [] if wanted is not None and wanted in str(why) else [Mismatch(str(wanted), f"fault: {why}")]
    if "fault" in row:
        return [Mismatch(f"fault: ...{row['fault']}...", "it was read")]
    found = [*_differs("written", row["given"] if "without" in row else row.get("gives", row["given"]), got[key])]
    if "tags" not in row:
        return found
    read = conversation.read(row["given"])
    tagged = _as_the_case_says(read.messages, row["tags"])
    engine = stanch.open(policy)
    for number, name in enumerate(names):
        tier = engine.tiers_of(engine.policy).of(f"probe/{number}")
        copy = redact_history(tagged, reading(tier), tier.label, model=f"probe/{number}").messages
        got = ask(policy, row["given"], f"probe/{number}", **options)
        found += _differs(f"without {name}", conversation.write(read, copy), got[key])
    return found


def _policy(denied: Sequence[str]) -> str:
    lines = ["version = 1", "[models.assignments]", f'"{OPEN}" = "trusted"']
    lines += [f'"probe/{number}" = "t{number}"' for number in range(len(denied))]
    for number, path in enumerate(denied):
        lines += [f"[tiers.t{number}]", 'label = "Probe"']
        lines += ['otherwise = { read = "allow", write = "allow", execute = "allow", network = "allow" }']
        lines += [f"[[tiers.t{number}.cells]]", f"path = {json.dumps(path)}", 'read = "deny"']
    return "\n".join(lines) + "\n"


def _denied(word: str) -> str:
    """What a tier has to deny for this tag to be closed; a tag of unknown origin is where anything is denied."""
    return "/nobody/has/this" if word.startswith("? ") else word.removesuffix("/**") or "/"


def _words(part: Any) -> Iterator[str]:
    for one in part.values() if isinstance(part, Mapping) else [part]:
        yield from one


def _as_the_case_says(messages: Sequence[Message], tags: Mapping[str, Any]) -> list[Message]:
    made = []
    for number, message in enumerate(messages, 1):
        parts = [_with(part, tags.get(f"{number}.{at}")) for at, part in enumerate(message.parts, 1)]
        made.append(replace(message, parts=tuple(parts)))
    return made


def _with(part: Part, said: Any) -> Part:
    if said is None:
        return part
    if not isinstance(said, Mapping):
        return replace(part, tags=tuple(_tag(word) for word in said))
    inner = part.content if isinstance(part, Result) else (part,)
    whole = "".join(one.text for one in inner if isinstance(one, Text))
    found = []
    for text, words in said.items():
        start = whole.find(text) if text else -1
        found += [replace(_tag(word), span=(start, start + len(text)) if text else None) for word in words]
    return replace(part, tags=tuple(found))


def _tag(word: str) -> SourceTag:
    if word.startswith("? "):
        return SourceTag(word.removeprefix("? "), Origin.UNKNOWN)
    if word.endswith("/**"):
        return SourceTag(word.removesuffix("/**") or "/", Origin.SUBTREE, all_below=False)
    return SourceTag(word)


def _differs(what: str, wanted: Any, got: Any) -> Iterator[Mismatch]:
    one, other = (json.dumps(value, ensure_ascii=False) for value in (wanted, got))
    if one != other:
        yield Mismatch(f"{what} {one}", other)
