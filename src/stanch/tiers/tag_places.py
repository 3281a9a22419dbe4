"""Which directories an agent may be in at each point of a conversation.

Settles what a relative path may be read against: whatever the agent said, the caller gave, or a shell that stays where
it went may have gone to. Where nobody can say any more, there is no directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from stanch.tiers.tag_shapes import Shapes

MOST = 8
_MOVE = re.compile(r"(?<![\w./-])(?:cd|pushd|popd|chdir)(?![\w./=-])")
_MOVED = re.compile(
    r"""(?:^|[;&|(\n]|\bthen\b|\bdo\b)\s*(?:cd|pushd)[ \t]+(?:--[ \t]+)?
    (?:"(?P<double>[^"$`\\\n]+)"|'(?P<single>[^'\n]+)'|(?P<plain>[^\s;&|()<>$`*?\[\]{}"'\\~!\#-][^\s;&|()<>$`*?\[\]{}"'\\!]*))
    [ \t]*(?=$|[;&|)\n]|[12]?>)""",
    re.VERBOSE,
)


@dataclass
class Places:
    """The directories, as they are found out."""

    resolve: Callable[[str, str], str | None]
    bases: tuple[str, ...] = ()
    lost: bool = False

    def start(self, cwd: str | None) -> None:
        """Begins in the directory that the caller gave."""
        found = self.resolve(cwd, "/") if cwd else None
        self.bases = (found,) if found is not None else ()

    def heard(self, text: str, shapes: Shapes, *, system: bool) -> None:
        """Notes a directory that an agent told its model; what a system says counts where nothing else is known."""
        if system and self.bases:
            return
        for pattern in shapes.told_by_system if system else shapes.told_by_user:
            lines = text.split("\n") if system else [text]
            for found in filter(None, map(pattern.match, lines)):
                self._add(self.resolve(found["path"].strip(), "/"))
                return

    def ran(self, command: str) -> None:
        """Notes where a command leaves a shell that stays where it went."""
        moves = len(_MOVE.findall(command))
        if not moves:
            return
        targets = [found["double"] or found["single"] or found["plain"] for found in _MOVED.finditer(command)]
        if len(targets) != moves:
            self.lost = True
            self.bases = ()
            return
        here = self.bases
        for target in targets:
            reached = [self.resolve(target, base) for base in (here or (("/",) if target.startswith("/") else ()))]
            here = tuple(dict.fromkeys(one for one in reached if one is not None))
            for one in here:
                self._add(one)
            if not here or None in reached:
                self.lost = True
                self.bases = ()
                return

    def _add(self, base: str | None) -> None:
        if base is None or self.lost:
            return
        self.bases = tuple(dict.fromkeys([base, *self.bases]))
        if len(self.bases) > MOST:
            self.lost, self.bases = True, ()
