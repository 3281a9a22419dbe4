"""What a simple command does: its program looked up, its words held against the table, wrappers taken off.

Settles the effects of one command and how it changes the state of the shell. Does not settle the order in which
commands run (`policy.shell.running`), nor what built-ins and programs with a language of their own do
(`policy.shell.builtins`, `policy.shell.special`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from stanch.policy.shell import builtins, expanding, printing, special, variables
from stanch.policy.shell.operands import Use, use_of
from stanch.policy.shell.pieces import Hole, Spot, Value, Word, known, quoted
from stanch.policy.shell.reading import Found, Part, shown
from stanch.policy.shell.state import State
from stanch.policy.shell.verbs import SHELLS, UNKNOWN, Verb
from stanch.values.call import Command, EffectClass, Weight

if TYPE_CHECKING:
    from stanch.policy.shell.redirects import Opened
    from stanch.policy.shell.running import Result, Run

READ, WRITE, NETWORK = EffectClass.READ, EffectClass.WRITE, EffectClass.NETWORK
Assigns = tuple[tuple[str, Value], ...]

SYSTEM = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew|/snap)?/s?bin/")
PROJECT = re.compile(r"(?:\./)?(?:\.venv|venv|node_modules/\.)/?bin/|(?:\./)?vendor/bin/")
# Devices that hold nothing of anybody.
NOTHING = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd/\d+)|/proc/self/fd/\d+|/dev/pts/\d+|-"
)
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/.*")
MOST_NAMES = 400
_ELEMENT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)

# What is done to an operand of each kind: class, what of that which lies below is touched, and how surely.
TOUCHES: Mapping[str, tuple[tuple[EffectClass, str, Weight], ...]] = {
    "read": ((READ, "", Weight.SURE),),
    "script": ((READ, "", Weight.SURE),),
    "below": ((READ, "inside", Weight.SURE),),
    "write": ((WRITE, "", Weight.SURE),),
    "wipe": ((WRITE, "whole", Weight.SURE),),
    "unpack": ((WRITE, "spread", Weight.SURE),),
    "both": ((READ, "inside", Weight.SURE), (WRITE, "inside", Weight.SURE)),
    "move": ((READ, "inside", Weight.SURE), (WRITE, "whole", Weight.SURE)),
    "maybe": ((READ, "", Weight.POSSIBLE),),
    "any": ((READ, "", Weight.POSSIBLE), (WRITE, "", Weight.POSSIBLE)),
}


class Draft:
    """The part that is being made of one command."""

    def __init__(self, opened: Opened, assigns: Assigns) -> None:
        self.found: list[Found] = list(opened.found)
        self.scripts: list[Found] = []
        self.unread = opened.unread
        self.assigns = assigns
        self.needs: set[str] = set()

    def say_unread(self, why: str) -> None:
        """Takes down why the command cannot be read; the first reason stands."""
        self.unread = self.unread or why


class Commands:
    """The simple commands of one going-through."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seen: tuple[str, ...] = ()  # every directory that the shell has changed to

    # --- from the tree -------------------------------------------------------------------------------------------

    def call(self, node: Mapping[str, Any], state: State, opened: Opened) -> Result:
        """Goes through a simple command in every reading of its words."""
        from stanch.policy.shell.running import NO_OUTPUT, Result, _either

        run = self.run
        if node.get("Type") == "DeclClause":
            result = builtins.declare(self, node, state, opened)
            run.notes.clear()
            return result
        assigns, after = self._assigns(node.get("Assigns") or [], state)
        result = Result(None, None, NO_OUTPUT)
        for words in expanding.fields(node.get("Args") or [], state, run):
            noted = run.notes[0] if run.notes else ""
            here = opened._replace(unread=opened.unread or noted)
            if words:
                one = self.simple(words, assigns, state, here)
            else:
                one = self._only_assigns(assigns, after, here)
            result = _either(result, one)
        run.notes.clear()
        return result

    def _assigns(self, nodes: Sequence[Mapping[str, Any]], state: State) -> tuple[Assigns, State]:
        """What is assigned, and the state in which it has been."""
        found: list[tuple[str, Value]] = []
        for node in nodes:
            name = node.get("Name", {}).get("Value", "")
            values = self.assigned(node, state)
            found.extend((name, value) for value in values[:1])
            if len(values) > 1:
                found[-1] = (name, (Hole("a value that may be several"),))
            state = self.set(state, name, values)
        return tuple(found), state

    def assigned(self, node: Mapping[str, Any], state: State) -> tuple[Value, ...]:
        """What one assignment gives its variable."""
        run, name = self.run, node.get("Name", {}).get("Value", "")
        if node.get("Index"):
            expanding.arithmetic(node["Index"], state, run)
            expanding.search(node.get("Value"), state, run)
            return ((Hole("a list that is changed"),),)
        if node.get("Array"):
            return self._array(node["Array"], state)
        values = expanding.assigned(node.get("Value"), state, run)
        if node.get("Append"):
            before = state.variables.get(name, ((Hole("a variable that is not set in the command"),),))
            values = tuple((*old, *new) for old in before for new in values)
        return values

    def _array(self, array: Mapping[str, Any], state: State) -> tuple[Value, ...]:
        from stanch.policy.shell.pieces import Break, Piece

        nodes = [item.get("Value") or {} for item in array.get("Elems") or []]
        if any(item.get("Index") for item in array.get("Elems") or []):
            expanding.search(array, state, self.run)
            return ((Hole("a list with names"),),)
        found: list[Value] = []
        for words in expanding.fields(nodes, state, self.run):
            pieces: list[Piece] = []
            for word in words:
                for item in [known(name) for name in self.texts(word, state)] if word.wild else [word]:
                    if pieces:
                        pieces.append(Break())
                    pieces.extend(expanding.value_of(item))
            found.append(tuple(pieces))
        return tuple(found)

    def _only_assigns(self, assigns: Assigns, after: State, opened: Opened) -> Result:
        from stanch.policy.shell.running import NO_OUTPUT, Result

        draft = Draft(opened, assigns)
        for name, value in assigns:
            self._weigh(name, value, draft)
        if draft.found or draft.unread or draft.needs:
            why = draft.unread or (f"a change of {sorted(draft.needs)[0]}, which changes what runs" if draft.needs else "")
            text = " ".join(f"{name}={_said(value)}" for name, value in assigns) or opened.shown
            self.run.parts.append(Part(Command(shown(text), inert=True, unread=why), tuple(draft.found)))
        return Result(after, after if assigns else None, opened.output or NO_OUTPUT)

    def set(self, state: State, name: str, values: tuple[Value, ...]) -> State:
        """The state in which the variable is set, with what that does to the shell itself."""
        state = state.with_variable(name, values)
        if name == "IFS":
            state = replace(state, split=True)
        elif name in ("CDPATH", "HOME") and not state.swayed:
            state = replace(state, swayed=name)
        elif self.changes_what_runs(name) and not all(variables.is_harmless(name, value) for value in values):
            state = replace(state, swayed=state.swayed or name)
        return state

    def changes_what_runs(self, name: str) -> bool:
        """True where the variable's value may make other code run."""
        return variables.changes_what_runs(name)

    def _weigh(self, name: str, value: Value, draft: Draft) -> None:
        if variables.changes_what_runs(name) and not variables.is_harmless(name, value):
            draft.needs.add(name)

    # --- one command line ----------------------------------------------------------------------------------------

    def simple(self, words: Sequence[Word], assigns: Assigns, state: State, opened: Opened) -> Result:
        """Goes through one command of which every word is in place."""
        from stanch.policy.shell.running import UNKNOWN_OUTPUT, Result, _either

        first = words[0]
        draft = Draft(opened, assigns)
        for name, value in assigns:
            self._weigh(name, value, draft)
        if first.wild:
            result = Result(None, None)
            for name in self.texts(first, state):
                result = _either(result, self.simple([known(name), *words[1:]], assigns, state, opened))
            return result
        if first.text is None:
            draft.say_unread(f"a program that is not known: {first.why or 'a name out of a search'}")
            for word in words[1:]:
                self.touch("any", word, state, draft)
            self._part(words, None, draft, "", UNKNOWN)
            return Result(replace(state, lost=True), replace(state, lost=True), UNKNOWN_OUTPUT)
        name = first.text
        if name in state.functions and "/" not in name:
            inside = expanding.with_arguments(self._for_command(state, assigns), words[1:])
            result = self.run.function(name, state.functions[name], inside, opened.stdin)
            if None not in state.functions[name]:
                if draft.found or draft.unread or draft.needs:
                    self._part(words, None, draft, "", Verb((name,), inert=True))
                kept = _kept(state, result)
                return Result(kept.ok, kept.fail, result.out)
        program = posixpath.basename(name.rstrip("/")) or name
        place = "" if "/" not in name or SYSTEM.fullmatch(name[: len(name) - len(program)]) else posixpath.dirname(name) + "/"
        verb = self.run.verbs.get(program, UNKNOWN)
        if place:
            self._script(first, state, draft, opened)
            place = "" if PROJECT.fullmatch(place) else place
        handler = builtins.HANDLERS.get(program)
        if handler is not None:
            return handler(self, program, list(words[1:]), state, opened, draft)
        return self._program(program, place, words, verb, state, opened, draft)

    def _for_command(self, state: State, assigns: Assigns) -> State:
        for name, value in assigns:
            state = self.set(state, name, (value,))
        return state

    def _program(
        self, program: str, place: str, words: Sequence[Word], verb: Verb, state: State, opened: Opened, draft: Draft
    ) -> Result:
        from stanch.policy.shell.running import NO_OUTPUT, UNKNOWN_OUTPUT, Result

        spread = self.spread(words[1:], state, draft)
        use = use_of(verb, spread)
        if verb.inert and any(_ELEMENT.search(word.text or "") for word in spread):
            draft.say_unread("an element of a list that runs code")
        inside = self._based(use, state, draft)
        if use.verb.special in special.READERS:
            special.READERS[use.verb.special](self, use, spread, inside, draft, opened)
        self.apply(use, inside, draft, opened)
        self._part(words, use, draft, place, verb)
        run = self.run
        shell_state = self._for_command(inside, draft.assigns)
        for code in use.code:
            self._code(code, shell_state, opened.stdin, use)
        if use.inner:
            inner = self._inner(use, shell_state, opened)
            if program in ("builtin", "command", "exec"):
                return _kept(state, inner)
        busy = use.quiet or use.inner or use.code or not use.flags.isdisjoint(("code", "module", "own"))
        if use.verb.code_on_stdin and not busy:
            self._from_stdin(program, use, shell_state, opened, draft)
        self._after(program, use, inside, opened)
        out = printing.output_of(program, use, inside, opened.stdin, run)
        fails: State | None = None if program in ("true", ":") else state
        ok: State | None = None if program == "false" else state
        return Result(ok, fails, NO_OUTPUT if use.verb.inert and out == UNKNOWN_OUTPUT else out)

    def _from_stdin(self, program: str, use: Use, state: State, opened: Opened, draft: Draft) -> None:
        """An interpreter that was given no script: it runs what stands on its standard input."""
        if any(kind == "script" and not NOTHING.fullmatch(word.text or "") for kind, word in use.acts):
            return
        text = expanding.text_of(opened.stdin) if opened.stdin is not None else None
        if text is not None and program in SHELLS:
            self.run.script(text, replace(state, arguments=None), None)
            return
        last = self.run.parts.pop()
        why = "the code on its standard input"
        self.run.parts.append(last._replace(command=last.command._replace(unread=last.command.unread or why)))

    def _inner(self, use: Use, state: State, opened: Opened) -> Result:
        for value in use.assigns:
            name, _, text = (value.text or "").partition("=")
            state = self.set(state, name, (expanding.value_of(known(text)),))
        assigns = tuple(
            (name, expanding.value_of(known(text)))
            for name, _, text in ((word.text or "").partition("=") for word in use.assigns)
        )
        return self.simple(use.inner or [], assigns, state, opened._replace(found=(), unread="", targets=()))

    def _code(self, code: Word, state: State, stdin: Value | None, use: Use) -> None:
        if code.text is None:
            self._mark_unread(f"code that is not known: {code.why}")
            return
        self.run.script(code.text, expanding.with_arguments(state, use.arguments), stdin)

    def _mark_unread(self, why: str) -> None:
        last = self.run.parts.pop()
        self.run.parts.append(last._replace(command=last.command._replace(unread=last.command.unread or why)))

    def _based(self, use: Use, state: State, draft: Draft) -> State:
        for word in use.base:
            moved = self.moved(word, state)
            if moved is None:
                draft.say_unread(f"a directory that is not known: {word.why}")
                return replace(state, lost=True)
            self.touch("maybe", word, state, draft)
            state = moved
        return state

    def moved(self, word: Word, state: State) -> State | None:
        """The state with its directory changed to the word's; None where nobody knows which that is."""
        if word.text is None or word.wild or not word.text:
            return None
        return state.at(tuple(self.run.world.real(posixpath.join(cwd, word.text)) for cwd in state.cwds), lost=state.lost)

    # --- words to effects ----------------------------------------------------------------------------------------

    def apply(self, use: Use, state: State, draft: Draft, opened: Opened) -> None:
        """Takes down the effects of what the words were found to be."""
        if use.unread:
            draft.say_unread(use.unread)
        for kind, word in use.acts:
            if kind == "script":
                self._script(word, state, draft, opened)
            else:
                self.touch(kind, word, state, draft)
        if use.verb.network and not use.quiet:
            draft.found.append(Found(NETWORK, None, subject=""))

    def touch(self, kind: str, word: Word, state: State, draft: Draft) -> None:
        """Takes down what is done to one word."""
        if kind in ("url", "host"):
            self._reach(word, state, draft)
            return
        if kind == "code":
            return
        if kind == "opaque":
            draft.say_unread("the code that it is given")
            return
        touches = TOUCHES.get(kind)
        if touches is None:
            return
        if kind in ("maybe", "any") and not self._may_be_path(word, state):
            if word.text is None and not word.under and word.why:
                draft.say_unread(f"a word that may be a path: {word.why}")
            return
        for cls, deep, weight in touches:
            effects, why = self.targets(word, state, (cls,), deep=deep, weight=weight)
            draft.found.extend(effects)
            if why:
                draft.say_unread(why)

    def _may_be_path(self, word: Word, state: State) -> bool:
        if word.text is None:
            return bool(word.under) or "/" in word.head
        text = word.text
        if "://" in text and not text.startswith("file:"):
            return False
        if "/" in text or text.startswith(("~", ".")):
            return True
        return bool(text) and len(text) < 256 and any(self.run.world.is_file(text, cwd) for cwd in state.cwds)

    def targets(
        self,
        word: Word,
        state: State,
        classes: Sequence[EffectClass],
        *,
        deep: str = "",
        weight: Weight = Weight.SURE,
    ) -> tuple[list[Found], str]:
        """The effects on a word as a path, and why not all of them can be known."""
        found: list[Found] = []
        if word.text is None:
            spots = word.under
            for spot in spots:
                for cls in classes:
                    reach = deep if deep == "whole" else ("spread" if cls is WRITE else "inside")
                    found.append(Found(cls, spot.path, spot.bases, reach, weight, only=spot.only))
            if spots:
                return found, ""
            head = posixpath.dirname(word.head) if "/" in word.head else ""
            if head or word.head.startswith("/"):
                found.extend(Found(cls, head or "/", state.cwds, "", Weight.POSSIBLE) for cls in classes)
            return found, f"a path that is not known: {word.why}"
        names = self.texts(word, state) if word.wild else [word.text]
        for name in names:
            socket = _SOCKET.fullmatch(name)
            if socket:
                found.append(Found(NETWORK, None, subject=socket[1]))
            elif not NOTHING.fullmatch(name):
                found.extend(Found(cls, name, state.cwds, deep, weight) for cls in classes)
                if self._through_link(name, state):
                    return found, "a path through a link that the command makes"
        unsure = state.lost and any(not name.startswith("/") for name in names)
        return found, "the directory that a path starts from is not known" if unsure else ""

    def _through_link(self, name: str, state: State) -> bool:
        if not self.run.links:
            return False
        for cwd in state.cwds:
            path = posixpath.normpath(posixpath.join(cwd, name))
            if any(path == link or path.startswith(link + "/") for link in self.run.links):
                return True
        return False

    def _reach(self, word: Word, state: State, draft: Draft) -> None:
        if word.text is None:
            draft.found.append(Found(NETWORK, None))
            draft.say_unread(f"an address that is not known: {word.why}")
            return
        if word.text.lower().startswith("file:"):
            draft.found.append(Found(READ, word.text[5:].removeprefix("//").removeprefix("localhost"), state.cwds))
            return
        try:
            host = urlsplit(word.text if "//" in word.text else "//" + word.text).hostname or ""
        except ValueError:
            host = ""
        draft.found.append(Found(NETWORK, None, subject=host))

    def texts(self, word: Word, state: State) -> list[str]:
        """The names that a word with wildcards stands for; where there are none, the word as it is."""
        found: list[str] = []
        for cwd in state.cwds:
            names = self.run.world.names(word.parts, cwd, wide=state.wide)
            if names is None or len(names) > MOST_NAMES:
                head = posixpath.dirname(re.split(r"[*?\[]", word.text or "", maxsplit=1)[0]) or "."
                self.run.note("a wildcard that stands for too many names")
                return [head]
            found.extend(names)
        written = [name for name in self._written_names(word, state) if name not in found]
        return list(dict.fromkeys([*found, *written])) or [word.text or ""]

    def _written_names(self, word: Word, state: State) -> list[str]:
        """Names that the command itself has made before, and that the wildcards would find."""
        text = "".join(
            (re.escape(piece).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") if wild else re.escape(piece))
            for piece, wild in word.parts
        )
        if "\\[" in text or not self.run.written:
            return [path for path in self.run.written] if self.run.written and "\\[" in text else []
        test = re.compile(text)
        found = []
        for path in self.run.written:
            for cwd in state.cwds:
                short = posixpath.relpath(path, cwd)
                if test.fullmatch(path) or test.fullmatch(short):
                    found.append(path)
        return found

    def names(self, word: Word, state: State) -> list[Any]:
        """What a loop over a word with wildcards runs over: pieces, one for each name."""
        from stanch.policy.shell.pieces import QUOTED, Lit, Under

        texts = self.texts(word, state)
        if len(texts) > 6 or self.run.notes:
            head = posixpath.dirname(re.split(r"[*?\[]", word.text or "", maxsplit=1)[0]) or "."
            return [Under((Spot(head, state.cwds),))]
        return [Lit(text, QUOTED) for text in texts]

    def spread(self, words: Sequence[Word], state: State, draft: Draft) -> list[Word]:
        """The words with wildcards put in; a name that begins with a dash would be taken for an option."""
        found: list[Word] = []
        for word in words:
            if not word.wild:
                found.append(word)
                continue
            before = len(self.run.notes)
            names = self.texts(word, state)
            if len(self.run.notes) > before:
                self.run.notes.pop()
                found.append(Word(None, under=(Spot(names[0], state.cwds),)))
                continue
            if any(name.startswith("-") for name in names) and not (word.text or "").startswith("-"):
                draft.say_unread("a wildcard that finds a name which begins with a dash")
            found.extend(known(name) for name in names)
        return found

    # --- scripts -------------------------------------------------------------------------------------------------

    def _script(self, word: Word, state: State, draft: Draft, opened: Opened) -> None:
        """A file that is run: read, and where this session or command wrote it, gone through as code of its own."""
        effects, why = self.targets(word, state, (READ,))
        draft.found.extend(effects)
        draft.scripts.extend(effects)
        if why:
            draft.say_unread(why)
        for text in self.texts(word, state) if word.text is not None else ():
            for cwd in state.cwds:
                self._written_script(text, cwd, state, draft, opened)

    def _written_script(self, text: str, cwd: str, state: State, draft: Draft, opened: Opened) -> None:
        path = posixpath.normpath(posixpath.join(cwd, text))
        if path in self.run.written:
            code: str | None = self.run.written[path]
        else:
            written = self.run.world.written(text, cwd)
            if written is None:
                return
            code = written.text
        if code is None or not is_shell_code(path, code):
            draft.say_unread("a script that was written in this session")
            return
        self.run.script(code, replace(state, arguments=None), opened.stdin)

    def _after(self, program: str, use: Use, state: State, opened: Opened) -> None:
        """Takes down what the command leaves on the disk for the commands behind it."""
        made = [(found.path, found.bases) for found in opened.targets if found.path]
        content = expanding.text_of(printing.output_of(program, use, state, opened.stdin, self.run))
        for kind, word in use.acts:
            if kind in ("write", "both", "wipe", "move") and word.text is not None and word.text not in (".", "/"):
                made.append((word.text, state.cwds))
        for path, bases in made:
            for base in bases:
                full = posixpath.normpath(posixpath.join(base, path))
                exact = bool(opened.targets) or program == "tee"
                self.run.written[full] = content if exact else None
                if program == "ln":
                    self.run.links.add(full)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _part(self, words: Sequence[Word], use: Use | None, draft: Draft, place: str, verb: Verb) -> None:
        self.run.parts.append(self.part(words, use, draft, place, verb))

    def part(self, words: Sequence[Word], use: Use | None, draft: Draft, place: str, verb: Verb) -> Part:
        """The part that the draft has become."""
        leaf = use.verb if use is not None else verb
        first = words[0].text
        text = " ".join(word.shown for word in words)
        assigned = tuple((name, expanding.text_of(value)) for name, value in draft.assigns)
        if assigned:
            text = " ".join(f"{name}={'…' if said is None else quoted(said)}" for name, said in assigned) + " " + text
        command = Command(
            shown(text),
            "" if first is None else posixpath.basename(first.rstrip("/")) or first,
            place,
            tuple(word.text for word in words[1:]),
            0 if use is None else use.front,
            True if use is None else use.plain_front,
            leaf.takes | verb.takes,
            leaf.aliases + (verb.aliases if leaf is not verb else ()),
            verb is not UNKNOWN,
            assigned,
            frozenset(draft.needs),
            leaf.inert or leaf.wrapper == "plain",
            draft.unread,
        )
        return Part(command, tuple(dict.fromkeys(draft.found)), tuple(draft.scripts))


_SHEBANG = re.compile(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(\w+)[^\n]*")


def is_shell_code(path: str, code: str) -> bool:
    """True where a file's text is run by a shell, by its first line or, without one, by its name."""
    first = _SHEBANG.match(code)
    if first is not None:
        return posixpath.basename(first[1]) in SHELLS
    return not posixpath.splitext(path)[1] or path.endswith((".sh", ".bash"))


def _said(value: Value) -> str:
    text = expanding.text_of(value)
    return "…" if text is None else quoted(text)


def _kept(state: State, result: Result) -> Result:
    """What a function leaves behind: everything but the arguments it was called with."""
    back = [None if one is None else replace(one, arguments=state.arguments) for one in (result.ok, result.fail)]
    return result._replace(ok=back[0], fail=back[1])
