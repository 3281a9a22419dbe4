"""Which models a new server trusts: asked once, on a fresh data directory, and kept there.

Settles when a person is asked, and where the answer is. Does not settle what a tier may see (`tiers`). Nothing is asked
without a terminal, where the policy file assigns models, or where the command line names some.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from stanch.app.settings import Settings, make_private, read_private, write_private
from stanch.explain import visible
from stanch.policy.model_names import why_never
from stanch.surfaces.cli import terminal
from stanch.values.fault import BadInput

FILE = "trusted-models"
QUESTION = (
    "Which models do you trust with whatever the rules allow? A name such as anthropic/claude-sonnet-5 or a pattern "
    "such as ollama/*, several with spaces between; nothing for none: then you are asked once for each directory."
)


def trusted(settings: Settings, given: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns of models that the server trusts besides the policy file's own.

    Those of the command line where it names some; else those that were said at first start. Raises `BadInput` for a
    pattern that no model fits.
    """
    for pattern in given:
        if (why := why_never(pattern)) is not None:
            raise BadInput(f"--trust needs a pattern of models, for instance --trust 'anthropic/*': {why}")
    if given:
        return given
    kept = read_private(settings.data / FILE)
    if kept is not None:
        return tuple(kept.split())
    if settings.token_file.exists() or not sys.stdin.isatty() or _assigns(settings.policy):
        return ()
    said = _asked()
    make_private(settings.data)
    write_private(settings.data / FILE, "".join(f"{pattern}\n" for pattern in said))
    return said


def _asked() -> tuple[str, ...]:
    terminal.progress(QUESTION)
    while True:
        try:
            patterns = tuple(input("models to trust: ").split())
        except EOFError:
            return ()
        wrong = [(pattern, why) for pattern in patterns if (why := why_never(pattern)) is not None]
        if not wrong:
            return patterns
        for pattern, why in wrong:
            terminal.complain(f"{visible(pattern)}: {why}")


def _assigns(policy: Path | None) -> bool:
    """True where the policy file says of models how far they are trusted, or cannot be read."""
    if policy is None:
        return False
    try:
        models = tomllib.loads(policy.read_text("utf-8")).get("models")
    except (OSError, ValueError):
        return True  # WHY: whatever is wrong with it is said in a moment, and nothing is to be asked before
    return bool(models)
