"""From a reason code to one sentence that a person understands. One table for every door, log and page.

Settles the wording. INVARIANT: a sentence holds only what the reason carries, with invisible characters made visible.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from stanch.values.decision import Effect
from stanch.values.reason import Code, Reason

TEMPLATES: Mapping[Code, str] = MappingProxyType(
    {
        Code.RULE: "{verb} by rule {rule} ({words}): {subject}",
        Code.NO_MATCH: "Needs approval because no rule matches: {subject}",
        Code.MEMORY_EXCEPTION: "Allowed because every target lies in the workspace's memory: {subject}",
        Code.READ_GRANT: "Allowed because a read grant covers it: {subject}",
        Code.WRITE_GRANT: "Allowed because a write grant covers it: {subject}",
        Code.BYPASS: "Allowed because a person suspended such questions for this session: {subject}",
        Code.FILE_HAS_LINKS: "Needs approval because the file has other names that no write grant covers: {subject}",
        Code.COVERS_REFUSED: "Needs approval because it reaches into what rule {rule} closes ({words}): {subject}",
        Code.COVERS_TOO_MUCH: "Needs approval because more lies below than was looked through: {subject}",
        Code.COMMAND_UNREAD: "Needs approval because a part of the command cannot be known ({detail}): {subject}",
        Code.NOTHING_BY_ITSELF: "Allowed because by itself it does nothing: {subject}",
        Code.MAY_WRITE_CLOSED: "Needs approval because it may write what is closed to it: {subject}",
        Code.TIER_DENIES: "Denied by the trust tier {detail}: {subject}",
        Code.TIER_ASKS: "Needs approval by the trust tier {detail}: {subject}",
        Code.TIER_COVERS: "Needs approval because it may reach what is closed by the trust tier {detail}: {subject}",
        Code.GROUP_MISSING: 'Needs approval because there is no permission group "{detail}": {subject}',
        Code.STORE_UNREADABLE: "{verb} because the store cannot be read ({detail}): {subject}",
        Code.POLICY_INVALID: "Denied because the policy has a mistake at {detail}; mend it first: {subject}",
        Code.LAYER_FAILED: "{verb} because the layer {layer} gave no answer ({detail}): {subject}",
        Code.REWRITE_LOOP: "Denied because the layer {layer} rewrote the arguments twice: {subject}",
        Code.POLICY_SAYS: "{verb} by the layer {layer} ({detail}): {subject}",
        Code.PATH_UNREADABLE: "Denied because the path cannot be read ({detail}): {subject}",
        Code.PATH_PROTECTED: "Denied because it belongs to Stanch itself: {subject}",
        Code.RUNS_CODE: "Denied because what is written there is run as code later: {subject}",
        Code.TARGET_CHANGED: "Refused because the target changed after it was judged: {subject}",
        Code.CALL_CHANGED: "{verb} because the call or its context is not what was approved: {subject}",
        Code.REJECTED: "Rejected by {detail}: {subject}",
        Code.APPROVAL_EXPIRED: "Rejected because nobody answered in time: {subject}",
        Code.APPROVAL_LAPSED: "Rejected because it was approved and not started for as long as that held: {subject}",
        Code.NO_APPROVER: "Rejected because it needs approval and this session has nobody who approves: {subject}",
        Code.CANCELLED: "Cancelled by {detail}: {subject}",
        Code.INTERRUPTED: "Interrupted: its process ended while it was running, and it is not run again: {subject}",
        Code.APPROVED: "Approved by {detail}: {subject}",
        Code.CALL_UNREADABLE: "Denied because the call cannot be read ({detail}): {subject}",
        Code.CONTENT_UNKNOWN: "Withheld because nobody can say which secrets it carries ({detail}): {subject}",
        Code.CONTENT_OPAQUE: "Withheld because it carries secrets that cannot be taken out of it ({detail}): {subject}",
        Code.CONTENT_CUT: "Withheld because it was cut, and carries secrets ({detail}): {subject}",
        Code.CONTENT_TIER: "Withheld by the trust tier {detail}: {subject}",
        Code.CONTENT_ASKS: "Withheld because a person has to be asked about it by itself: {subject}",
        Code.CONTENT_UNSCANNED: "Withheld because it could not be looked through ({detail}): {subject}",
        Code.CONTENT_UNACCOUNTED: "Withheld because nothing was said of what it is made of: {subject}",
        Code.REGISTRY_FULL: "Withheld because it carries more secrets than can be looked for at once: {subject}",
        Code.REGISTRY_LATCHED: "Withheld because what came before it may carry any secret: {subject}",
        Code.RECEIPT_FAILED: "Withheld because no receipt of it could be kept ({detail})",
        Code.SECRET_TOO_SHORT: "Withheld because it carries a secret that is too short to be taken out: {subject}",
        Code.WORKBENCH_TAINTED: "Withheld because the workbench holds what nobody can vouch for: {subject}",
        Code.WORKBENCH_UNREADABLE: "Withheld because what the workbench remembers cannot be read ({detail}): {subject}",
    }
)

_VERBS = {Effect.ALLOW: "Allowed", Effect.ASK: "Needs approval", Effect.DENY: "Denied"}


def sentence(reason: Reason, effect: Effect = Effect.DENY) -> str:
    """One sentence for the reason of an answer: what was answered, by what, about what."""
    rule = reason.rule
    text = TEMPLATES[reason.code].format(
        verb=_VERBS[effect],
        rule=f'{rule.id} in group "{visible(rule.group)}"' if rule else "",
        words=visible(rule.words) if rule else "",
        layer=reason.layer.value,
        detail=visible(reason.detail),
        subject=subject(reason),
    )
    if rule and rule.note and reason.code is Code.RULE:
        text += f" [{visible(rule.note)}]"
    if reason.detail and reason.code in (Code.RULE, Code.CALL_CHANGED):
        text += f" ({visible(reason.detail)})"
    return text


def brief(reason: Reason, effect: Effect) -> str:
    """Why, in a few words, for a line that already shows the answer and what it is about: `rule 9 (ask *)`."""
    rule = reason.rule
    if rule is not None and reason.code is Code.RULE:
        group = f" of {visible(rule.group)}" if rule.group != "default" else ""
        return f"rule {rule.id}{group} ({visible(rule.words)})"
    said = sentence(reason._replace(subject="\0", requested=""), effect).partition(": \\x00")[0]
    return said.removeprefix(_VERBS[effect]).removeprefix("Refused").strip().removeprefix("because ")


def subject(reason: Reason) -> str:
    """What the reason is about: the path as asked, and where it really leads where that does not show."""
    if not reason.requested or reason.requested == reason.subject:
        return visible(reason.subject)
    plain = ".." not in reason.requested.split("/") and reason.subject.endswith("/" + reason.requested.rstrip("/"))
    if plain:
        return visible(reason.requested)
    return f"{visible(reason.requested)} (which is {visible(reason.subject)})"


def visible(text: str) -> str:
    """The text with control, bidirectional and other invisible characters written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == " " or not _hidden(c) else c.encode("unicode_escape").decode() for c in text)


# Characters that show as nothing without being in a category that says so: fillers, joiners, variation selectors.
_BLANK = frozenset(
    chr(code)
    for first, last in (
        (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
    )
    for code in range(first, last + 1)
)  # fmt: skip


def _hidden(char: str) -> bool:
    return char in _BLANK or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
