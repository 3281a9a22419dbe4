"""Which files a session wrote: a script among them that is run later is the session's own code.

Settles what is remembered of a session's writes. Does not settle what follows from it (`policy.shell.commands`).
"""

from __future__ import annotations

from stanch.values.call import EffectClass
from stanch.values.decision import Decision, Effect

MOST_REMEMBERED = 20_000


class Written:
    """The canonical paths of files that a session's calls were let write, or may have been by a person."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._all = False

    def take(self, decision: Decision) -> None:
        """Takes down what a call writes, unless it was denied: whoever may approve it answers later."""
        if decision.effect is Effect.DENY:
            return
        for effect in decision.call.effects:
            if effect.cls is EffectClass.WRITE and effect.stamp is not None and effect.stamp.path:
                if len(self._paths) >= MOST_REMEMBERED:
                    self._all = True  # WHY: to forget one would be to trust it
                    return
                self._paths.add(effect.stamp.path)

    def has(self, path: str) -> bool:
        """True where the session wrote the file of this canonical path."""
        return self._all or path in self._paths
