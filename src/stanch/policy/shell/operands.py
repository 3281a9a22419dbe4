"""What the operands of one simple command come to: which it reads, which it writes, what it runs.

Settles what each operand is, by the program's row in the table. Does not settle how options are told from operands
(`policy.shell.taking`), against which directory a path is read, nor what is run within (`policy.shell.commands`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.taking import take_options, take_value
from stanch.policy.shell.use import Use
from stanch.policy.shell.verbs import TAKING, Slot, Verb

ABOUT = frozenset({"--help", "--version", "-V", "-version", "-help"})
_PLAIN_FRONT = frozenset({"value", "base", "url", "write", "script"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def use_of(verb: Verb, words: Sequence[Word]) -> Use:
    """What the words behind the program's name are to it."""
    if len(words) == 1 and words[0].text in ABOUT:
        return Use(verb, quiet=True)
    use = Use(verb)
    # WHY three: a word that is any number of names found stands in the first place, in the last and between.
    given = [one for word in words for one in ([word] * 3 if word.many and word.under else [word])]
    rest = _front(use, given) if verb.subs or verb.front else given
    use.rest = rest
    take_options(use, rest)
    if "stop" in use.flags:
        return Use(
            use.verb,
            front=use.front,
            plain_front=use.plain_front,
            flags=use.flags,
            quiet=True,
            rest=rest,
            unread=use.unread,
        )
    _lay_out(use)
    return use


def _front(use: Use, words: list[Word]) -> list[Word]:
    """Takes the options before a subcommand, and the subcommand, as often as there is a further one.

    What stands before the first subcommand is the front; behind it an option that is not known keeps all of them there.
    """
    taken, first = 0, True
    while use.verb.subs or use.verb.front:
        verb = use.verb
        plain = use.plain_front
        while words and (words[0].text is None or words[0].text.startswith("-")):
            word = words.pop(0)
            taken += 1
            if word.text is None:
                use.say_unread("a subcommand that is not known")
                return words
            taken += _front_option(use, word.text, words)
        if first or use.plain_front != plain:
            use.front = taken
        first = False
        if not words or words[0].text not in verb.subs:
            if words and verb.subs:
                use.above.append(verb)
                use.verb = Verb(verb.names, verb.other, network=verb.network, aliases=verb.aliases)
            return words
        taken += 1
        use.above.append(verb)
        use.verb = verb.subs[words.pop(0).text or ""]
        if not use.verb.subs and not use.verb.front:
            break
    return words


def _front_option(use: Use, text: str, words: list[Word]) -> int:
    """Takes an option before a subcommand; the number of further words that are its value."""
    verb = use.verb
    name, mark, attached = text.partition("=")
    role = verb.front.get(text) or verb.front.get(name)
    if role is None and not text.startswith("--") and len(text) > 2:
        role, mark, attached = verb.front.get(text[:2]), "=", text[2:]
    if role is None:
        use.plain_front = False
    elif role in TAKING:
        use.plain_front = use.plain_front and role in _PLAIN_FRONT
        value = known(attached) if mark else (words.pop(0) if words else known(""))
        take_value(use, role, value, name)
        return 0 if mark else 1
    elif role == "unread":
        use.say_unread(f"what the option {name} does")
    return 0


def _lay_out(use: Use) -> None:
    """Gives each operand the kind that the layout has for its place."""
    layout = list(use.verb.layout)
    operands = list(use.operands)
    if "module" in use.flags:
        layout = []
    if "code-first" in use.flags:
        if not operands:
            use.say_unread("the code that -c is given")
        use.code.extend(operands[:1])
        use.arguments = [*operands[1:], *(use.inner or [])][1:]
        use.inner, layout, operands = None, [], []
    if ("bare" in use.flags and layout) or (
        "pattern" in use.flags and layout and layout[0].kind in ("text", "code", "opaque", "maybe")
    ):
        layout.pop(0)
    if "into" in use.flags and layout:
        layout = [Slot(layout[0].kind, "*")]
    for slot in layout:
        if slot.kind == "assigns":
            while operands and operands[0].text is not None and _ASSIGNMENT.match(operands[0].text):
                use.assigns.append(operands.pop(0))
    if use.inner is not None and any(slot.kind == "code" for slot in layout):
        _join_code(use)
    elif use.inner is not None and "module" not in use.flags:
        _split_assigns(use)
    layout = [slot for slot in layout if slot.kind not in ("assigns", "command", "code")]
    placed = _placed(layout, operands)
    use.acts.extend(placed)
    for slot in layout:
        default = slot.default or (
            "." if slot.kind == "read" and slot.many == "*" and not use.flags.isdisjoint(("deep", "follow")) else ""
        )
        if default and not any(kind == slot.kind for kind, _ in placed):
            here = known(default)
            use.operands.append(here)
            use.acts.append((slot.kind, here))
    if any(slot.kind == "script" for slot in layout) and use.inner and "module" not in use.flags:
        use.acts.extend(("any", word) for word in use.inner)
        use.inner = None
    _deepen(use)
    if use.verb.response and any((word.text or word.head).startswith("@") for word in use.operands):
        use.say_unread("options that stand in a file")


def _join_code(use: Use) -> None:
    """Takes the rest of the words as code: joined by blanks, as `eval` and `watch` do."""
    words = use.inner or []
    use.inner = None
    use.flags.add("code")
    if all(word.text is not None for word in words):
        use.code.append(known(" ".join(word.text or "" for word in words)))
    else:
        use.say_unread(f"code that is not known: {next(word.why or 'a name' for word in words if word.text is None)}")


def _split_assigns(use: Use) -> None:
    """Takes the assignments from the front of what a wrapper is given to run: `env A=1 command`."""
    inner = use.inner or []
    while inner and inner[0].text is not None and _ASSIGNMENT.match(inner[0].text):
        use.assigns.append(inner[0])
        inner = inner[1:]
    use.inner = inner or None


def _placed(layout: list[Slot], operands: list[Word]) -> list[tuple[str, Word]]:
    """Each operand with its kind: fixed places from the front and the back, the rest to the one that takes many."""
    spread = next((number for number, slot in enumerate(layout) if slot.many == "*"), None)
    if spread is None:
        kinds = [slot.kind for slot in layout]
        return [(kinds[at] if at < len(kinds) else "any", word) for at, word in enumerate(operands)]
    ahead, behind = layout[:spread], layout[spread + 1 :]
    first = min(len(ahead), len(operands))
    needed = len([slot for slot in behind if slot.many == "1"])
    last = max(first, len(operands) - len(behind)) if len(operands) - first > needed or needed else len(operands)
    placed = [(ahead[at].kind, operands[at]) for at in range(first)]
    placed += [(layout[spread].kind, word) for word in operands[first:last]]
    placed += [(slot.kind, word) for slot, word in zip(behind, operands[last:], strict=False)]
    return placed


_DEEP = {"read": "below", "write": "wipe", "both": "move"}
_EDITED = {"read": "both", "below": "move"}
_FOLLOWED = {"read": "reach", "below": "reach"}
_LOOKED = {"write": "read", "both": "read", "wipe": "below", "move": "below", "unpack": "read"}


def _deepen(use: Use) -> None:
    edited, deep, look = ("edit" in use.flags, "deep" in use.flags, "look" in use.flags)
    if not edited and not deep and not look and "follow" not in use.flags:
        return
    operands = {id(word) for word in use.operands}
    acts = []
    for given, word in use.acts:
        kind = given
        if id(word) in operands:
            if edited:
                kind = _EDITED.get(kind, kind)
            if deep:
                kind = _DEEP.get(kind, kind)
            if "follow" in use.flags:
                kind = _FOLLOWED.get(kind, kind)
            if look:
                kind = _LOOKED.get(kind, kind)
        acts.append((kind, word))
    use.acts = acts
