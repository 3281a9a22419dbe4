"""`cd`, `pushd` and `popd`: where the shell stands afterwards.

Settles the directories it may stand in. Does not settle what a relative path means there (`policy.shell.touching`).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from stanch.policy.shell.finishing import finished
from stanch.policy.shell.homes import home_values
from stanch.policy.shell.naming import texts
from stanch.policy.shell.outcome import UNKNOWN_OUTPUT, Result
from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.state import State
from stanch.policy.shell.touching import touch
from stanch.policy.shell.values import text_of
from stanch.policy.shell.walk import Call, Walk

_MOVED = re.compile(r"[+-]\d+")
_PHYSICAL = re.compile(r"-[LPe@]*P[LPe@]*")


def change_directory(call: Call) -> Result:
    """`cd` and `pushd`: bash takes `..` off the path as written, unless told to go by what is there."""
    run, state, draft = call.run, call.state, call.draft
    operands = [word for word in call.words if not (word.text or "").startswith("-") or word.text == "-"]
    physical = any(_PHYSICAL.fullmatch(word.text or "") for word in call.words)
    target = operands[0] if operands else None
    if target is None and call.program == "cd":
        home = text_of(home_values(state, run)[0])
        target = known(home) if home is not None else Word(None, why="a home directory that is not known")
    if target is None or target.text == "-":
        back = _everywhere(run, state)
        back = replace(back, lost=True) if "OLDPWD" in state.variables else back
        return finished(call, back, state)._replace(out=UNKNOWN_OUTPUT)
    if target.wild:
        names = texts(run, target, state)
        target = known(names[0]) if len(names) == 1 and names[0] != target.text else Word(None, why="a wildcard")
    if target.text is None or "CDPATH" in state.variables or _MOVED.fullmatch(target.text):
        if target.text is None and not target.under:
            draft.say_unread(f"a directory that is not known: {target.why}")
        return finished(call, replace(state.at(state.cwds), lost=True), state)
    text = target.text
    touch(run, "maybe", known(_as_path(text)), state, draft)
    found: list[str] = []
    for cwd in state.cwds:
        raw = posixpath.join(cwd, text)
        logical = posixpath.normpath(raw)
        if not physical:
            found.append(logical)
        gone = ".." in raw and not run.world.is_dir(logical, cwd)
        if physical or state.physical or (gone and run.world.real(raw) != run.world.real(logical)):
            found.append(run.world.real(raw))
    after = state.at(tuple(found), lost=state.lost)
    remember(run, state)
    remember(run, after)
    result = finished(call, after, state)
    return result if call.program == "cd" else result._replace(out=UNKNOWN_OUTPUT)


def _as_path(text: str) -> str:
    return text if "/" in text or text.startswith(("~", ".")) or not text else f"./{text}"


def _everywhere(run: Walk, state: State) -> State:
    """Any directory that the shell has stood in so far, or was never seen to stand in."""
    return state.at((*state.cwds, *run.seen), lost=state.lost or not run.seen)


def remember(run: Walk, state: State) -> None:
    """Takes down that the shell has stood in the state's directories."""
    run.seen = tuple(dict.fromkeys((*run.seen, *state.cwds)))


def back(call: Call) -> Result:
    """`popd`: back to some directory that the shell has stood in."""
    return finished(call, _everywhere(call.run, call.state), call.state)._replace(out=UNKNOWN_OUTPUT)
