"""The table of places that no agent's call may touch, whatever the rules say.

Settles which canonical paths are out of reach, for reading or for writing. Does not settle what is kept there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stanch.values.reason import Code

# Places whose content is run by a program that trusts it: writing there is running code later. The second column says
# whether all below the place counts; with False, writing the place itself: what it is replaced by would be trusted.
_RUN_LATER = (
    ("/.git", False),
    (".git/hooks", True),
    ("/.git/config", False),
    ("/.git/config.worktree", False),
    ("/.git/commondir", False),
    ("/.git/info/attributes", False),
    ("/.claude", False),
    ("/.claude/settings.json", False),
    ("/.claude/settings.local.json", False),
    ("/.claude/hooks", True),
    ("/.codex", False),
    ("/.codex/config.toml", False),
    ("/.codex/hooks", True),
    ("/.codex/hooks.json", False),
    ("/.gemini", False),
    ("/.gemini/settings.json", False),
    ("/.gemini/hooks", True),
    ("/.opencode", False),
    ("/.opencode/plugin", True),
    ("/.opencode/plugins", True),
    ("/opencode.json", False),
    ("/opencode.jsonc", False),
    ("/.mcp.json", False),
)
_INSIDE_GIT = ("/.git/modules/", "/.git/worktrees/")
_GIT_STEERING = ("/config", "/config.worktree", "/commondir", "/gitdir", "/hooks")


STEERING_NAME = "/stanch.toml"
"""A policy file, wherever it lies: one that an agent plants would be found before the one that binds it."""


@dataclass(frozen=True, slots=True)
class Protected:
    """Stanch's own state (`state`: neither read nor written) and what steers it (`steering`: not written).

    Both hold canonical paths; each covers all below it.
    """

    state: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    roots: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "roots", (*self.state, *self.steering))

    def refusal(self, path: str, *, write: bool, folded: bool = False) -> Code | None:
        """`path_protected` for Stanch's own state, `runs_code` for a write where code is run later, else None.

        `folded` compares without letter case; the path is then a case-folded one.
        """
        roots = self.roots if write else self.state
        if folded:
            roots = tuple(root.casefold() for root in roots)
        if path.startswith(roots) and self._covers(roots, path):
            return Code.PATH_PROTECTED
        if write and path.endswith(STEERING_NAME):
            return Code.PATH_PROTECTED
        if write and ("/." in path or ".git/" in path or "/opencode.json" in path) and runs_code(path):
            return Code.RUNS_CODE
        return None

    def lies_below(self, path: str) -> bool:
        """True where one of the places lies below the path: moving that would move the place along."""
        return any(root.startswith(path.rstrip("/") + "/") for root in self.roots)

    @staticmethod
    def _covers(roots: tuple[str, ...], path: str) -> bool:
        return any(path == root or path.startswith(root + "/") for root in roots)


def runs_code(path: str) -> bool:
    """True for a place whose content a trusting program runs: git's hooks and settings, agents' hook settings."""
    for place, below in _RUN_LATER:
        at = path.find(place)
        while at >= 0:
            end = at + len(place)
            if end == len(path) or (below and path[end] == "/"):
                return True
            at = path.find(place, end)
    inside = any(place in path for place in _INSIDE_GIT)
    return inside and ("/hooks/" in path or path.endswith(_GIT_STEERING))
