"""What the words of one simple command come to: which it reads, which it writes, what it runs.

Settles how options and operands are told apart and what each is, by the program's row in the table. Does not settle
against which directory a path is read, nor what is run within (`policy.shell.commands`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stanch.policy.shell.pieces import Spot, Word, known
from stanch.policy.shell.verbs import TAKING, Slot, Verb

ABOUT = frozenset({"--help", "--version", "-V", "-version", "-help"})
PATH_KINDS = frozenset({"read", "write", "both", "move", "below", "wipe", "script"})
_ATTACHED = frozenset({"edit", "optional"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(slots=True)
class Use:
    """What a command's words were found to be.

    `acts` are words with what is done to them. `inner` is the command line that a wrapper runs, `code` shell code that
    it runs. `base` is the directory that its relative operands start from. `unread` says what cannot be known.
    `operands` are what it was given, `arguments` what code that it runs is given. `quiet`: it only talks about itself.
    `printed` are the places below which it prints names, where that is more than its operands say.
    """

    verb: Verb
    acts: list[tuple[str, Word]] = field(default_factory=list)
    inner: list[Word] | None = None
    code: list[Word] = field(default_factory=list)
    assigns: list[Word] = field(default_factory=list)
    base: list[Word] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    operands: list[Word] = field(default_factory=list)
    front: int = 0
    plain_front: bool = True
    quiet: bool = False
    unread: str = ""
    rest: list[Word] = field(default_factory=list)
    arguments: list[Word] | None = None
    patterns: list[Word] = field(default_factory=list)
    printed: tuple[Spot, ...] = ()

    def say_unread(self, why: str) -> None:
        """Takes down why the command cannot be read; the first reason stands."""
        self.unread = self.unread or why


def use_of(verb: Verb, words: Sequence[Word]) -> Use:
    """What the words behind the program's name are to it."""
    if len(words) == 1 and words[0].text in ABOUT:
        return Use(verb, quiet=True)
    use = Use(verb)
    rest = _front(use, list(words)) if verb.subs or verb.front else list(words)
    use.rest = rest
    _options(use, rest)
    if "stop" in use.flags:
        return Use(use.verb, front=use.front, plain_front=use.plain_front, flags=use.flags, quiet=True, rest=rest)
    _lay_out(use)
    return use


def _front(use: Use, words: list[Word]) -> list[Word]:
    """Takes the options before a subcommand, and the subcommand, as often as there is a further one."""
    taken = 0
    while use.verb.subs or use.verb.front:
        verb = use.verb
        while words and (words[0].text is None or words[0].text.startswith("-")):
            word = words.pop(0)
            taken += 1
            if word.text is None:
                use.say_unread("a subcommand that is not known")
                return words
            name, mark, attached = word.text.partition("=")
            role = verb.front.get(word.text) or verb.front.get(name)
            if role is None and not word.text.startswith("--") and len(word.text) > 2:
                role, mark, attached = verb.front.get(word.text[:2]), "=", word.text[2:]
            if role is None:
                use.plain_front = False
                continue
            if role in TAKING:
                value = known(attached) if mark else (words.pop(0) if words else known(""))
                taken += 0 if mark else 1
                _value(use, role, value, name)
            elif role == "unread":
                use.say_unread(f"what the option {name} does")
        use.front = taken
        if not words or words[0].text not in verb.subs:
            if words and verb.subs:
                use.verb = Verb(verb.names, verb.other, network=verb.network, aliases=verb.aliases)
            return words
        taken += 1
        sub = verb.subs[words.pop(0).text or ""]
        use.verb = sub
        if not sub.subs and not sub.front:
            break
    return words


def _options(use: Use, words: list[Word]) -> None:
    """Tells options from operands; everything behind the place where a wrapped command begins is left alone."""
    verb = use.verb
    before = _words_before_command(verb.layout)
    at_script = any(slot.kind == "script" for slot in verb.layout)
    only_operands = False
    place = 0
    while place < len(words):
        word = words[place]
        reached = before is not None and len(use.operands) >= before
        if reached and (only_operands or at_script or not _is_option(word, verb)):
            use.inner = words[place:]
            return
        place += 1
        if only_operands or not _is_option(word, verb):
            use.operands.append(word)
            if not only_operands and word.text is None and not word.head and verb.has_dangerous_options:
                if not word.under:
                    use.say_unread(f"a word that may be an option: {word.why}")
            continue
        text = word.text if word.text is not None else word.head
        if text == "--":
            only_operands = True
            continue
        place += _option(use, word, text, words[place:])
        if "module" in use.flags and use.inner is None:
            use.inner = words[place:]
            return


_PLAIN_PLUS = re.compile(r"\+(?:\d*|G|F|/.*)")


def _is_option(word: Word, verb: Verb) -> bool:
    text = word.text if word.text is not None else word.head
    if text[:1] == "+" and "+" in verb.options:
        return True
    return len(text) > 1 and text[0] == "-"


def _words_before_command(layout: tuple[Slot, ...]) -> int | None:
    """How many operands stand before the place from which on all words belong to what is run; None: there is none."""
    number = 0
    for slot in layout:
        if slot.kind in ("command", "code"):
            return number
        number += slot.kind != "assigns"
        if slot.kind == "script":
            return number
    return None


def _option(use: Use, word: Word, text: str, further: list[Word]) -> int:
    """Takes one option, or a cluster of short ones; the number of further words that are its value."""
    verb = use.verb
    name, mark, attached = text.partition("=")
    unsure = word.text is None
    if text[0] == "+" and text not in verb.options:
        if not _PLAIN_PLUS.fullmatch(text) or unsure:
            _take(use, verb.options["+"], "+", known(text[1:]), further)
        return 0
    role = verb.options.get(text) or verb.options.get(name)
    if role is None and text.startswith("--"):
        name, role = _abbreviated(verb, name)
    if role is not None:
        use.flags.add(name)
        value = _with(word, attached) if mark else None
        return _take(use, role, name, value, further)
    if text.startswith("--") or (mark and not unsure and len(name) > 2 and text[:2] not in verb.options):
        _unlisted(use, word, name, _with(word, attached) if mark else None)
        return 0
    for at in range(1, len(text)):
        short = "-" + text[at]
        role = verb.options.get(short)
        use.flags.add(short)
        if role is None:
            if verb.strict and not text[at].isdigit():
                use.say_unread(f"what the option {short} does")
            continue
        rest = text[at + 1 :]
        if (role in TAKING or role in _ATTACHED) and not (role == "shell" and verb.is_shell):
            value = _with(word, rest.removeprefix("=")) if rest or unsure else None
            return _take(use, role, short, value, further)
        _take(use, role, short, None, further)
    if unsure:
        if verb.has_dangerous_options and not word.plain:
            use.say_unread(f"an option that is not known: {word.why}")
    elif "/" in text:
        use.acts.append(("maybe", known(text[2:])))
    return 0


def _abbreviated(verb: Verb, name: str) -> tuple[str, str | None]:
    """The long option that a beginning of it stands for; of several, the one that does the most."""
    fitting = [(full, role) for full, role in verb.options.items() if len(name) > 3 and full.startswith(name)]
    risky = [pair for pair in fitting if pair[1] not in ("flag", "value", "optional")]
    best = risky or fitting
    return best[0] if best else (name, None)


def _unlisted(use: Use, word: Word, name: str, value: Word | None) -> None:
    if use.verb.strict:
        use.say_unread(f"what the option {name} does")
    if value is None:
        if word.text is None and use.verb.has_dangerous_options:
            use.say_unread(f"an option that is not known: {word.why}")
        return
    if value.text is None:
        use.say_unread(f"the value of {name}: {value.why}")
    elif "/" in value.text or value.text.startswith(("~", ".")):
        use.acts.append(("maybe", value))


def _with(word: Word, text: str) -> Word:
    """The value attached to an option: what stands behind the option in the same word."""
    if word.text is not None:
        return known(text)
    return Word(None, text, (), False, word.under, word.why, word.many, word.plain)


def _take(use: Use, role: str, name: str, value: Word | None, further: list[Word]) -> int:
    if role == "shell" and use.verb.is_shell:
        use.flags.add("code-first")  # WHY: a shell's -c takes no value; its first operand is the code
        return 0
    if role in TAKING:
        taken = 0
        if value is None:
            value, taken = (further[0], 1) if further else (known(""), 0)
        if value.many:
            use.say_unread(f"the value of {name}: {value.why}")
        _value(use, role, value, name)
        return taken
    if role == "unread":
        use.say_unread(f"what the option {name} does")
    elif role == "stop":
        use.flags.add("stop")
    elif role in ("deep", "edit", "lists", "own"):
        use.flags.add(role)
    return 0


def _value(use: Use, role: str, value: Word, name: str) -> None:
    if role in ("read", "write", "both", "below", "wipe", "url", "maybe", "script"):
        use.acts.append((role, value))
    elif role == "at":
        for path in files_in(value.text or ""):
            use.acts.append(("read", known(path)))
        if value.text is None:
            use.say_unread(f"the value of {name}: {value.why}")
    elif role == "base":
        use.base.append(value)
    elif role == "into":
        use.acts.append(("write", value))
        use.flags.add("into")
    elif role == "pattern":
        use.flags.add("pattern")
        use.patterns.append(value)
        if use.verb.code_on_stdin:
            use.flags.add("module")
    elif role == "patterns":
        use.flags |= {"pattern", "patterns"}
        use.acts.append(("read", value))
    elif role == "shell":
        use.code.append(value)
        use.flags.add("code")
    elif role == "opaque":
        use.say_unread(f"the code that {name} is given")
        use.flags.add("code")


def files_in(text: str) -> list[str]:
    """The files that a value such as `@path`, `name=@path` or `name=<path` names."""
    found = re.findall(r"(?:^|=)[@<]([^;,]+)", text)
    return [path for path in found if path != "-"]


def _lay_out(use: Use) -> None:
    """Gives each operand the kind that the layout has for its place."""
    layout = list(use.verb.layout)
    operands = list(use.operands)
    if "module" in use.flags:
        use.acts.extend(("any", word) for word in use.inner or ())
        use.inner, layout = None, []
    if "code-first" in use.flags:
        if not operands:
            use.say_unread("the code that -c is given")
        use.code.extend(operands[:1])
        use.arguments = [*operands[1:], *(use.inner or [])][1:]
        use.inner, layout, operands = None, [], []
    if "pattern" in use.flags and layout and layout[0].kind in ("text", "code", "opaque", "maybe"):
        layout.pop(0)
    if "into" in use.flags and layout:
        layout = [Slot(layout[0].kind, "*")]
    for slot in layout:
        if slot.kind == "assigns":
            while operands and operands[0].text is not None and _ASSIGNMENT.match(operands[0].text):
                use.assigns.append(operands.pop(0))
    if use.inner is not None and any(slot.kind == "code" for slot in layout):
        _join_code(use)
    elif use.inner is not None:
        _split_assigns(use)
    layout = [slot for slot in layout if slot.kind not in ("assigns", "command", "code")]
    placed = _placed(layout, operands)
    use.acts.extend(placed)
    for slot in layout:
        default = slot.default or ("." if slot.kind == "read" and slot.many == "*" and "deep" in use.flags else "")
        if default and not any(kind == slot.kind for kind, _ in placed):
            here = known(default)
            use.operands.append(here)
            use.acts.append((slot.kind, here))
    if any(slot.kind == "script" for slot in layout) and use.inner:
        use.acts.extend(("any", word) for word in use.inner)
        use.inner = None
    _deepen(use)


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
    """Each operand with its kind: fixed places from the front and from the back, the rest to the one that takes many."""
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


def _deepen(use: Use) -> None:
    edited, deep = "edit" in use.flags, "deep" in use.flags
    if not edited and not deep:
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
        acts.append((kind, word))
    use.acts = acts
