"""What a given model would not have been sent of recorded sessions.

Settles that each conversation of a file is filtered as it would be in a request. Does not settle what is withheld
(`app.redacting`) nor what was said (`said`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from stanch.app.engine import Engine
from stanch.app.redacting import Withheld
from stanch.surfaces.replay.detect import Transcript
from stanch.surfaces.replay.lines import Advance
from stanch.surfaces.replay.records import Warned
from stanch.surfaces.replay.said import conversations
from stanch.values.fault import BadInput


def withheld_in(
    transcript: Transcript,
    model: str,
    engine: Callable[[str | None], Engine],
    cwd: str | None,
    advance: Advance = lambda _: None,
) -> tuple[list[Withheld], list[Warned]]:
    """What would have been withheld of a file, by path, and warnings. `engine` is that of a session's first directory.

    `cwd` stands in where a conversation does not say where it was had. Raises `TiersBroken`.
    """
    said, warnings = conversations(transcript, advance)
    found: list[Withheld] = []
    for one in said:
        here = one.started or cwd
        try:
            done = engine(one.started).redact_history(one.messages, model, cwd=here)
        except BadInput as why:
            warnings.append(Warned(transcript.name, 0, f"a conversation is not in 'withheld', since {why}"))
            continue
        found += done.withheld
    return summed(found), warnings


def summed(rows: Iterable[Withheld]) -> list[Withheld]:
    """One row for each path, the one with the most messages first."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts[row.path, row.tier] += row.messages
    found = [Withheld(path, tier, messages) for (path, tier), messages in counts.items()]
    return sorted(found, key=lambda row: (-row.messages, row.path, row.tier))
