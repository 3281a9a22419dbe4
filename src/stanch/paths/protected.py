"""The table of places that no agent's call may touch, whatever the rules say.

Settles which canonical paths are out of reach, for reading or for writing. Does not settle what is kept there.
"""

from __future__ import annotations

from dataclasses import dataclass

from stanch.values.reason import Code

# Places below any directory whose content is run by a program that trusts it: writing there is running code later.
_RUN_LATER = (
    ("/.git/hooks", True),
    ("/.git/config", False),
    ("/.git/info/attributes", False),
    ("/.claude/settings.json", False),
    ("/.claude/settings.local.json", False),
    ("/.claude/hooks", True),
    ("/.codex/config.toml", False),
    ("/.codex/hooks", True),
    ("/.codex/hooks.json", False),
    ("/.gemini/settings.json", False),
    ("/.opencode/plugin", True),
    ("/.opencode/plugins", True),
)


@dataclass(frozen=True, slots=True)
class Protected:
    """Stanch's own state (`state`: neither read nor written) and what steers it (`steering`: not written).

    Both hold canonical paths; each covers all below it.
    """

    state: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()

    def refusal(self, path: str, *, write: bool) -> Code | None:
        """`path_protected` for Stanch's own state, `runs_code` for a write where code is run later, else None."""
        for root in self.state:
            if path == root or path.startswith(root + "/"):
                return Code.PATH_PROTECTED
        if write:
            for root in self.steering:
                if path == root or path.startswith(root + "/"):
                    return Code.PATH_PROTECTED
            if "/." in path and runs_code(path):
                return Code.RUNS_CODE
        return None


def runs_code(path: str) -> bool:
    """True for a place whose content a trusting program runs: git's hooks and settings, agents' hook settings."""
    for place, below in _RUN_LATER:
        at = path.find(place)
        while at >= 0:
            end = at + len(place)
            if end == len(path) or (below and path[end] == "/"):
                return True
            at = path.find(place, end)
    return "/.git/modules/" in path and (path.endswith("/config") or "/hooks/" in path or path.endswith("/hooks"))
