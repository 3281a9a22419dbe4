"""How options are told from operands, and what each of them does, by the program's row in the table.

Settles that alone. Does not settle what an operand is (`policy.shell.operands`), nor how patterns read options
(`policy.shell.options`).
"""

from __future__ import annotations

import re

from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.use import Use
from stanch.policy.shell.verbs import FLAGGING, TAKING, Slot, Verb

_ATTACHED = frozenset({"edit", "optional"})
_NAMED = frozenset({"--data-urlencode", "--variable", "--expand-variable", "--url-query"})
_CODE_FILE = re.compile(r"[\w./~@%+:,-]+")
_PATHS = frozenset({"read", "write", "both", "below", "wipe", "url", "maybe", "script"})


def take_options(use: Use, words: list[Word]) -> None:
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
            plain = word.plain and not "".join(text for text, _ in word.parts).startswith("-")
            unknown = word.text is None and not word.head and not word.under and not plain
            if unknown and not only_operands and verb.has_dangerous_options:
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
        if role in TAKING and not mark and not verb.strict and further:
            use.acts.append(("any", further[0]))  # WHY: it may be no abbreviation, and the word an operand
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
    elif "/" in text or mark:
        use.acts.append((_doubtful(verb), known(text[2:].removeprefix("="))))
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
    else:
        use.acts.append((_doubtful(use.verb), value))


def _doubtful(verb: Verb) -> str:
    """What the value of an option is that nobody knows: where nothing is known of operands either, it may be written."""
    return "any" if any(slot.kind == "any" for slot in verb.layout) else "maybe"


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
        take_value(use, role, value, name)
        return taken
    if role == "unread":
        use.say_unread(f"what the option {name} does")
    elif role == "stop":
        use.flags.add("stop")
    elif role in FLAGGING:
        use.flags.add(role)
    return 0


def take_value(use: Use, role: str, value: Word, name: str) -> None:
    """Takes down what an option's value is."""
    if role in _PATHS:
        use.acts.append((role, value))
    elif role == "mount":
        _mount(use, value, name)
    elif role == "at":
        for path in files_in(value.text or "", named=name in _NAMED):
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
        if value.text is not None and _CODE_FILE.fullmatch(value.text):
            use.acts.append(("maybe", value))


def _mount(use: Use, value: Word, name: str) -> None:
    """A directory of this machine that is put into a container: `HOST:CONTAINER`, or `type=bind,source=HOST,...`."""
    if value.text is None:
        use.say_unread(f"the value of {name}: {value.why}")
        return
    pairs = dict(pair.partition("=")[::2] for pair in value.text.split(","))
    host = (
        pairs.get("source") or pairs.get("src") if "=" in value.text.partition(":")[0] else value.text.partition(":")[0]
    )
    if host and (host.startswith((".", "~")) or "/" in host):
        use.acts.append(("mount", known(host)))


def files_in(text: str, *, named: bool = False) -> list[str]:
    """The files that a value such as `@path`, `name=@path`, `name=<path` or, where it is `named`, `name@path` names."""
    found = re.findall(r"(?:^|=)[@<]([^;,]+)", text)
    if named and re.match(r"[^=@]+@", text):
        found.append(text.partition("@")[2])
    return [path for path in found if path != "-"]
