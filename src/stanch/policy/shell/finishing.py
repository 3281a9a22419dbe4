"""How a built-in that is read by code of its own ends: its part is made, and its words are looked through once more.

Settles that alone. Does not settle what the built-in does.
"""

from __future__ import annotations

import re

from stanch.policy.shell.drafting import part_of
from stanch.policy.shell.leaving import leave_targets
from stanch.policy.shell.outcome import NO_OUTPUT, UNKNOWN_OUTPUT, Result
from stanch.policy.shell.pieces import known
from stanch.policy.shell.state import State
from stanch.policy.shell.use import Use
from stanch.policy.shell.walk import LISTING, QUIET, Call

_ELEMENT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
_LISTING = frozenset({"set", "shopt", "export", "declare", "typeset", "local", "readonly", "alias", "trap"})
# Those that print what variables hold, among them what nobody but the user should see.
_VARIABLES = frozenset({"set", "export", "declare", "typeset", "local", "readonly"})
_TELLING = frozenset({"hash", "enable", "bind", "complete", "compgen", "fc", "history"})


def finished(call: Call, ok: State | None, fail: State | None) -> Result:
    """Makes the part of the built-in. Some print what variables hold when they are given nothing to do."""
    for word in call.words:
        if word.text is not None and _ELEMENT.search(word.text):
            call.draft.say_unread("an element of a list that runs code")
    lists = call.program in _LISTING and (not call.words or any(_lists(word.text) for word in call.words))
    verb = LISTING if lists and call.program in _VARIABLES else QUIET
    call.run.parts.append(part_of([known(call.program), *call.words], Use(verb), call.draft, "", verb))
    leave_targets(call.run, call.opened, None)
    return Result(ok, fail, UNKNOWN_OUTPUT if lists or call.program in _TELLING else NO_OUTPUT)


def _lists(text: str | None) -> bool:
    return text is None or (text[:1] in ("-", "+") and ("p" in text or text in ("-o", "+o", "-f", "-F")))
