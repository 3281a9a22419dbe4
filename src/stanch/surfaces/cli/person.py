"""The person at a terminal: a line that they type, and what they answer to an agent.

Settles how they are asked. Does not settle what becomes of an answer (`following_turn`).
"""

from __future__ import annotations

import sys
from typing import Any

from stanch.explain import visible
from stanch.surfaces.cli import inbox_words, terminal

QUARTER_HOUR = 900


def read_line(prompt: str) -> str | None:
    """What the person types; None at the end of it."""
    try:
        return input(prompt)
    except EOFError:
        return None
    except KeyboardInterrupt:
        terminal.out()
        return None


class Person:
    """The person at the terminal. Where there is none, nothing is answered."""

    def approval(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Asks whether a call may run."""
        if not sys.stdin.isatty():
            return None
        inbox_words.show_request(request)
        while True:
            said = read_line("  [y]es, [n]o, [q]uarter of an hour for all like it, or [l]eave it to the console? ")
            match (said or "l").strip().lower()[:1]:
                case "y":
                    return {"action": "approve"}
                case "q":
                    return {"action": "approve", "bypass_secs": QUARTER_HOUR}
                case "n":
                    note = read_line("  a word to the agent (or nothing): ")
                    return {"action": "reject", **({"note": note} if note else {})}
                case "l":
                    return None

    def question(self, question: dict[str, Any]) -> str | None:
        """Asks for the answer to a question of the agent."""
        if not sys.stdin.isatty():
            return None
        for line in str(question["question"]).split("\n"):
            terminal.out(f"  | {visible(line)}")
        for choice in question["choices"]:
            terminal.out(f"  |   - {visible(choice)}")
        return (read_line("  answer (nothing leaves it to the console): ") or "").strip() or None
