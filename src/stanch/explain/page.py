"""The page of reasons: for each code what it means and what would change the answer.

Settles docs/reasons.md, which is this text: `python -m stanch.explain.page > docs/reasons.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from stanch.explain import TEMPLATES
from stanch.values.reason import Code

ABOUT: Mapping[Code, tuple[str, str]] = MappingProxyType(
    {
        Code.RULE: (
            "A rule of the session's group or of `default` decided.",
            "Edit that rule, or put one before it: lower `priority` is read first. A mandatory rule gives way to none.",
        ),
        Code.NO_MATCH: ("No rule speaks about this call.", "Write one."),
        Code.MEMORY_EXCEPTION: (
            "A tool of Stanch's own writes, and every target lies in the workspace's `memory`.",
            "A mandatory rule on `memory` is read before the exception.",
        ),
        Code.READ_GRANT: (
            "A rule asked, and the path lies in the working directory or under a grant of the run context.",
            "A `deny`, or a mandatory `ask`, is answered by no grant.",
        ),
        Code.WRITE_GRANT: (
            "A rule asked, and the path lies under a write grant of the run context.",
            "A `deny`, or a mandatory `ask`, is answered by no grant.",
        ),
        Code.BYPASS: (
            "A rule asked, and a person has suspended such questions for this session.",
            "It ends at its time, or with the session.",
        ),
        Code.FILE_HAS_LINKS: (
            "A write grant covers this name, but the file has other names, which the write would change as well.",
            "Approve the call, or remove the other names.",
        ),
        Code.COVERS_REFUSED: (
            "A search, a move or a command reaches everything below a directory, and a rule denies something there, or "
            "has a person asked about it.",
            "Start it lower, or narrow it to files that no such rule closes.",
        ),
        Code.COVERS_TOO_MUCH: (
            "A search or a move reaches everything below a directory, a rule may close something there, and there is "
            "more than is looked through for one call.",
            "Start it lower.",
        ),
        Code.COMMAND_UNREAD: (
            "A part of a shell command cannot be known before it runs: a program, a path or an option that comes from "
            "elsewhere, code in another language, a variable that changes what runs, a text that is no valid bash. Or "
            "the call runs something else than a command, and a rule with `command` that denies or asks could be "
            "meant by it.",
            "Only a person can answer; no grant does. Write out what is not known, or run it as a command of its own. "
            "A variable is fine where an allow rule's pattern sets it so.",
        ),
        Code.NOTHING_BY_ITSELF: (
            "A built-in or a wrapper such as `cd`, `echo` or `timeout` stands beside another command, which has its "
            "own answer, and does nothing by itself.",
            "A rule with a `command` that names it and denies or asks.",
        ),
        Code.MAY_WRITE_CLOSED: (
            "A program of which nothing is known is given the name of a file that a rule denies to write, or has a "
            "person asked about. Nobody knows whether it writes there.",
            "Only a person can answer, or else name the file to a program that is known.",
        ),
        Code.TIER_DENIES: (
            "The trust tier of the model that will see the result denies this there. Or a person was asked for this "
            "tier before, and said no.",
            "Change the tier's cells in the policy file, assign the model to another tier, or go on with another "
            "model. No rule, grant or approval answers for a tier.",
        ),
        Code.TIER_ASKS: (
            "The trust tier of the model that will see the result has a person asked, once for each directory of a "
            "session. A model that no pattern fits is in the default tier, which asks about everything as it ships.",
            "Assign the model to a tier: `[models.assignments]` in the policy file, or `stanch up --trust`.",
        ),
        Code.TIER_COVERS: (
            "A search, a move or a command may reach what the model's trust tier denies, or asks about; or nobody "
            "knows in which directory a command will run.",
            "Start it lower, or write out what is not known.",
        ),
        Code.GROUP_MISSING: (
            "The session names a permission group that does not exist. Only the denies of `default` stand.",
            "Make the group, or name another in the run context.",
        ),
        Code.STORE_UNREADABLE: (
            "The store, or the row of it that this session depends on, cannot be read. Only denies that can be read "
            "stand.",
            "Mend the store. A group or a session that cannot be read is mended by writing it again.",
        ),
        Code.POLICY_INVALID: (
            "A rule that this session depends on, or the policy as a whole, cannot be read.",
            "`stanch policy check` names every mistake with its line.",
        ),
        Code.LAYER_FAILED: (
            "A layer threw, took too long, gave something that is no answer, or is configured and not available.",
            'Mend the layer. With `on_layer_failure = "deny"` such calls are denied instead of asked about.',
        ),
        Code.REWRITE_LOOP: (
            "A layer rewrote the arguments of a call that it had rewritten already.",
            "Mend the layer: its second look at a call must find nothing to rewrite.",
        ),
        Code.POLICY_SAYS: (
            "The application's policy, an ancestor's, or a hook said so. In brackets stand its own words.",
            "Whoever wrote it can say. No rule, grant or bypass answers for it.",
        ),
        Code.PATH_UNREADABLE: (
            "It cannot be told which file the path means: a loop of links, a folder that may not be searched, a NUL "
            "byte, more than 4,096 bytes, a name that is no text, a path that means something else to each process.",
            "Name the file by another path.",
        ),
        Code.PATH_PROTECTED: (
            "The path is Stanch's own state, or a write to the policy file.",
            "Nothing: no rule opens it to an agent's call. A person edits the policy.",
        ),
        Code.RUNS_CODE: (
            "A write to a place whose content is run later by a program that trusts it: git's hooks and settings, "
            "an agent's own hook settings.",
            "Nothing: no rule opens it to an agent's call. A person writes there.",
        ),
        Code.TARGET_CHANGED: (
            "Between judging and opening, a directory or the file became a link, or a file that is written got a "
            "second name.",
            "Ask again: the new target is judged by itself.",
        ),
        Code.CALL_UNREADABLE: (
            "The arguments are not of the shape that the tool declares, so it cannot be told what the call touches.",
            "Send the argument that the sentence names, or correct the tool's declaration in the policy.",
        ),
        Code.CALL_CHANGED: (
            "What was about to run was not what a person approved: other arguments, another tool, or a session whose "
            "context has changed since. Where a policy or a hook made other arguments of it than were approved, a "
            "person is asked anew, and sees those.",
            "Ask again: the call is then judged as it is, and shown as it is.",
        ),
        Code.REJECTED: (
            "A person rejected the call. A note of theirs is beside the reason.",
            "Nothing: what they meant is in their note.",
        ),
        Code.APPROVAL_EXPIRED: (
            "Nobody answered before the request's time was over.",
            "Ask again, or have requests of this source wait longer: `[approvals.expires_after]`.",
        ),
        Code.APPROVAL_LAPSED: (
            "The call was approved, and nobody started it for as long as its request could have waited for the answer, "
            "counted from the answer.",
            "Ask again, or have approvals of this source hold longer: `[approvals.expires_after]`.",
        ),
        Code.NO_APPROVER: (
            "The call needs a person's approval, and its session was opened with nobody who approves.",
            "Open the session with `approver`, or write a rule that answers.",
        ),
        Code.CANCELLED: (
            "The call was taken back before it ended, or its session ended.",
            "Ask again, in a session that goes on.",
        ),
        Code.INTERRUPTED: (
            "The process that ran the call died. How far it came is not known, so that it is not run again by itself.",
            "Look at what it did, and ask again.",
        ),
        Code.APPROVED: (
            "A person approved the call. It is judged again when it starts.",
            "A rule that denies it by then wins.",
        ),
        Code.CONTENT_UNKNOWN: (
            "A stored item of which nobody can say which secrets it carries; the cause says why.",
            "Write it again, with a writer that knows all secrets it was given; a person can read it as it is.",
        ),
        Code.CONTENT_OPAQUE: (
            "A stored item carries known secrets, and leaves in a form that they cannot be taken out of: bytes, "
            "base64, an archive, an image, a public link.",
            "Ask for its text, out of which they are taken.",
        ),
        Code.CONTENT_CUT: (
            "A text was cut before it came to the gate, and what it was cut from carries secrets: a part of one may "
            "stand at its ends.",
            "Ask for all of the text, or for a window of it that is cut afterwards.",
        ),
        Code.CONTENT_TIER: (
            "The trust tier of the model does not let it read what lies at this path, or items without one.",
            "Change a cell of the tier, answer its question, or use a model of another tier.",
        ),
        Code.CONTENT_ASKS: (
            "A search or a list came to an item about which a rule has a person asked, each time.",
            "Ask for this item alone: then a person is asked.",
        ),
        Code.CONTENT_UNSCANNED: (
            "The search for secrets did not come to its end: a budget was spent, or an engine failed.",
            "Ask for less at once. Nothing passes unscanned.",
        ),
        Code.CONTENT_UNACCOUNTED: (
            "An operation returned without having said which items its result is made of, or no gate stands before the "
            "model.",
            "It is a mistake of the program; report it.",
        ),
        Code.REGISTRY_FULL: (
            "An item carries more secrets than the registry of this call has room for.",
            "Ask for fewer items at once.",
        ),
        Code.REGISTRY_LATCHED: (
            "Something of unknown content was let into this call, so that nothing of its output goes to the model.",
            "Ask for the item in a call of its own.",
        ),
        Code.RECEIPT_FAILED: (
            "What a model is given stands in the audit log before it leaves, and the log could not be written.",
            "Look whether the database can be written: its disk may be full, or another program may hold it. "
            "`saved` says whether what was asked for is done all the same.",
        ),
        Code.SECRET_TOO_SHORT: (
            "An item carries a secret of fewer than 8 characters, which is replaced in no text.",
            "Give the secret a longer value, and write the item again.",
        ),
        Code.WORKBENCH_TAINTED: (
            "A copy of content that nobody can vouch for lies in the session's workbench, or something that code made "
            "while one lay there. What code prints meanwhile is kept for a person.",
            "Delete the copy and what was made beside it: code may, or a person with `stanch workbench remove`.",
        ),
        Code.WORKBENCH_UNREADABLE: (
            "It cannot be told which secrets came near the session's workbench: its row was changed, or its key is "
            "gone.",
            "Put the key back, or have a person empty the workbench: `stanch workbench clear`.",
        ),
    }
)


def page() -> str:
    """The whole page, as Markdown."""
    lines = [
        "# Reasons",
        "",
        "Every answer carries one of these codes, with the layer that gave it, the rule and its place where one did,",
        "what it is about, and a sentence. A reason holds names and places, never content.",
    ]
    for code in Code:
        means, change = ABOUT[code]
        lines += ["", f"## `{code.value}`", "", means, "", f"*What would change it:* {change}", ""]
        lines += [f"> {TEMPLATES[code]}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
