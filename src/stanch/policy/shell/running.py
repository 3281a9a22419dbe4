"""Going through a shell command as bash would, without running anything: every way it may take, every command on it.

Settles lists, pipes, groups, subshells and functions: which commands may run, from which directory, with which
variables. Does not settle loops and conditions (`policy.shell.control`), what a simple command does
(`policy.shell.commands`) nor what a word comes to (`policy.shell.expanding`).
INVARIANT: where it is not sure which way is taken, all are; a form of syntax that is not known is unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stanch.policy.shell import commands, leaving
from stanch.policy.shell.arithmetic import nested
from stanch.policy.shell.control import FORMS
from stanch.policy.shell.directories import remember
from stanch.policy.shell.outcome import (
    NO_OUTPUT,
    NOWHERE,
    UNKNOWN_OUTPUT,
    Assigns,
    Opened,
    Result,
    one_of,
)
from stanch.policy.shell.pieces import QUOTED, Lit, Under, Value, Word
from stanch.policy.shell.reading import (
    DEEPEST,
    MOST_BYTES,
    MOST_CODES,
    MOST_PARTS,
    MOST_STEPS,
    Part,
    TooMuch,
    Unparsed,
    World,
    shown,
    unread_part,
)
from stanch.policy.shell.redirects import opened_by
from stanch.policy.shell.state import Node, State, either
from stanch.policy.shell.verbs import Verbs
from stanch.policy.shell.walk import Disk
from stanch.values.command import Command

# Functions that the shell itself calls.
_HOOKS = frozenset({"command_not_found_handle", "command_not_found_handler"})


def read(text: str, cwd: str, world: World, verbs: Verbs) -> list[Part]:
    """Every simple command that the text would run when bash is given it in the directory, with its effects.

    What cannot be read is a part that says so. The text itself is never in an error.
    """
    run = Run(world, verbs)
    try:
        state = State((cwd,))
        run.finish(run.script(text, state, None).after or state)
    except TooMuch as why:
        return [unread_part(text, why.cause), *run.parts[:MOST_PARTS]]
    except RecursionError:
        return [unread_part(text, "it is nested too deeply"), *run.parts[:MOST_PARTS]]
    except (AttributeError, LookupError, TypeError, ValueError):
        # WHY: another version of the parser may print a tree of another shape, and no shape may let a command pass.
        return [unread_part(text, "its syntax tree cannot be read"), *run.parts[:MOST_PARTS]]
    return run.parts or [Part(Command(shown(text), inert=True))]


class Run:
    """One going-through: what was found so far, and what is left of the limits."""

    def __init__(self, world: World, verbs: Verbs) -> None:
        self.world, self.verbs = world, verbs
        self.home = world.home
        self.parts: list[Part] = []
        self.notes: list[str] = []
        self.disk = Disk()
        self.seen: tuple[str, ...] = ()
        self.traps: list[str] = []
        self.kept: State | None = None
        self.meanwhile: dict[str, tuple[tuple[Value, ...], bool]] | None = None
        self._steps = self._depth = self._codes = 0
        self._calling: list[str] = []

    def finish(self, state: State) -> None:
        """Goes through what runs at a time that nobody knows: traps, and scripts written after they are run."""
        done = 0
        while done < len(self.traps):
            code, done = self.traps[done], done + 1
            self.script(code, replace(either(self.kept, state) or state, arguments=None), None)
        leaving.run_late(self)
        if self.disk.links:
            leaving.mark_linked(self)

    # --- what expanding asks for ---------------------------------------------------------------------------------

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""
        return self.world.home_of(user)

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""
        self.notes.append(why)

    def set_meanwhile(self, name: str, values: tuple[Value, ...], *, surely: bool) -> None:
        """Takes down that a word sets a variable while it is read; a simple command hands it on to those behind it."""
        if self.meanwhile is not None and name not in self.meanwhile:
            self.meanwhile[name] = (values, surely)
        elif surely:
            self.note("a variable that is set while a word is read")

    def output(self, node: Node, state: State) -> Value:
        """Runs a substitution in a shell of its own; what it prints, without the ends of lines behind it."""
        notes, self.notes = self.notes, []
        result = self.statements(node.get("Stmts") or [], state, None)
        self.notes = notes + self.notes
        if node.get("TempFile") or node.get("ReplyVar"):
            return UNKNOWN_OUTPUT
        out = result.out
        if out and isinstance(out[-1], Lit):
            out = (*out[:-1], Lit(out[-1].text.rstrip("\n"), QUOTED))
        return out

    # --- text ----------------------------------------------------------------------------------------------------

    def script(self, text: str, state: State, stdin: Value | None) -> Result:
        """Reads a piece of shell code and goes through it."""
        if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
            raise TooMuch(f"it is longer than {MOST_BYTES:,} bytes")
        if "\0" in text or "\r" in text:
            raise TooMuch("it holds a NUL or a carriage return")
        self._depth += 1
        self._codes += 1
        if self._depth > DEEPEST:
            raise TooMuch("it is nested too deeply")
        if self._codes > MOST_CODES:
            raise TooMuch("there is more code in it than is looked through")
        try:
            tree = self.world.parse(text)
        except Unparsed as why:
            self.parts.append(unread_part(text, why.cause))
            return Result(replace(state, lost=True), replace(state, lost=True))
        else:
            return self.statements(tree.get("Stmts") or [], state, stdin)
        finally:
            self._depth -= 1

    # --- statements ----------------------------------------------------------------------------------------------

    def statements(self, nodes: Sequence[Node], state: State | None, stdin: Value | None) -> Result:
        """A list of statements, one after the other."""
        result = Result(state, state, NO_OUTPUT)
        printed: list[Value] = []
        for node in nodes:
            before = result.after
            if before is None:
                break
            result = self.statement(node, before, stdin)
            if result.out:
                printed.append(result.out)
        out = printed[0] if len(printed) == 1 else (UNKNOWN_OUTPUT if printed else NO_OUTPUT)
        if len(printed) > 1 and all(isinstance(piece, Under) for value in printed for piece in value):
            out = tuple(piece for value in printed for piece in value)
        return Result(result.ok, result.fail, out)

    def statement(self, node: Node, state: State, stdin: Value | None) -> Result:
        """One statement with its redirections."""
        self._steps += 1
        if self._steps > MOST_STEPS or len(self.parts) > MOST_PARTS:
            raise TooMuch("there is more in it than is looked through")
        if self.traps:
            self.kept = either(self.kept, state)
        command = node.get("Cmd")
        notes, self.notes = self.notes, []
        meanwhile, self.meanwhile = self.meanwhile, None
        opened = opened_by(node.get("Redirs") or [], state, stdin, self)
        kind = "" if command is None else command.get("Type")
        if command is not None and kind in ("CallExpr", "DeclClause"):
            result = commands.call(self, command, state, opened)
        else:
            own = len(self.parts)
            if opened.found or opened.unread or self.notes:
                unread = opened.unread or (self.notes[0] if self.notes else "")
                self.parts.append(
                    Part(Command(shown(opened.shown or "a word"), inert=True, unread=unread), opened.found)
                )
                self.notes = []
            result = self._compound(command, kind, state, opened.stdin)
            self._hand_on(own, opened)
            leaving.leave_targets(self, opened, None if command else "")
            if command is None:
                result = Result(state, state, opened.output)
            elif opened.moved:
                result = Result(result.ok, either(result.fail, state), result.out)
        self.notes, self.meanwhile = notes, meanwhile
        if opened.elsewhere:
            result = Result(result.ok, result.fail, NO_OUTPUT if opened.silent else UNKNOWN_OUTPUT)
        if node.get("Negated"):
            result = Result(result.fail or result.ok, result.ok, result.out)
        if node.get("Background") or node.get("Coprocess"):
            return Result(state, None, UNKNOWN_OUTPUT if result.out else NO_OUTPUT)
        return result

    def _hand_on(self, own: int, opened: Opened) -> None:
        """Counts the effects of a group's redirections as those of its first command, where there is one."""
        if opened.found and len(self.parts) > own + 1 and not self.parts[own].command.unread:
            first = self.parts[own + 1]
            self.parts[own : own + 2] = [first._replace(found=tuple(dict.fromkeys((*opened.found, *first.found))))]

    def simple(self, words: Sequence[Word], assigns: Assigns, state: State, opened: Opened) -> Result:
        """Goes through one command of which every word is in place."""
        self._steps += 1
        self._depth += 1
        if self._steps > MOST_STEPS or len(self.parts) > MOST_PARTS or self._depth > 3 * DEEPEST:
            raise TooMuch("there is more in it than is looked through")
        try:
            remember(self, state)
            return commands.simple(self, words, assigns, state, opened)
        finally:
            self._depth -= 1

    def _compound(self, node: Node | None, kind: str, state: State, stdin: Value | None) -> Result:
        if node is None:
            return Result(state, None, NO_OUTPUT)
        if kind == "BinaryCmd":
            return self._joined(node, state, stdin)
        if kind == "Block":
            return self.statements(node.get("Stmts") or [], state, stdin)
        if kind == "Subshell":
            return Result(state, state, self.statements(node.get("Stmts") or [], state, stdin).out)
        if kind == "FuncDecl":
            return self._made(node, state, stdin)
        go = FORMS.get(kind)
        if go is not None:
            return go(self, node, state, stdin)
        for inner in nested(node):
            self.output(inner, state)
        self.parts.append(
            Part(Command(f"a form of syntax that is not known ({kind})", unread="its syntax cannot be read"))
        )
        return Result(replace(state, lost=True), replace(state, lost=True))

    def _joined(self, node: Node, state: State, stdin: Value | None) -> Result:
        op = node.get("Op")
        left = self.statement(node["X"], state, stdin)
        if op in ("|", "|&"):
            given = left.out if op == "|" else _mixed(left.out)
            right = self.statement(node["Y"], state, given)
            return Result(either(state, right.ok), either(state, right.fail), right.out)
        start, other = (left.ok, left.fail) if op == "&&" else (left.fail, left.ok)
        if start is None:
            return Result(left.ok, left.fail, left.out)
        right = self.statement(node["Y"], start, stdin)
        out = right.out if not left.out else (left.out if not right.out else UNKNOWN_OUTPUT)
        if op == "&&":
            return Result(right.ok, either(other, right.fail), out)
        return Result(either(other, right.ok), right.fail, out)

    # --- functions -----------------------------------------------------------------------------------------------

    def _made(self, node: Node, state: State, stdin: Value | None) -> Result:
        name = node.get("Name", {}).get("Value", "")
        bodies = (node.get("Body") or {},)
        after = state.with_function(name, bodies)
        # WHY: a trap, a hook of the shell or another program may call it; whatever it does counts, called or not.
        if self._depth < DEEPEST and name not in self._calling:
            self.function(name, bodies, replace(after, arguments=None), stdin, quietly=name not in _HOOKS)
        return Result(after, None, NO_OUTPUT)

    def function(
        self, name: str, bodies: Sequence[Node | None], state: State, stdin: Value | None, *, quietly: bool = False
    ) -> Result:
        """Goes through a function that is called. `quietly`: nobody may call it, and only certain effects count."""
        if name in self._calling or len(self._calling) >= DEEPEST:
            self.parts.append(Part(Command(shown(name), name, unread="a function that calls itself")))
            return Result(replace(state, lost=True), replace(state, lost=True))
        self._calling.append(name)
        made = len(self.parts)
        try:
            result = NOWHERE
            for body in bodies:
                if body is not None:
                    result = one_of(result, self.statement(body, replace(state, own=frozenset()), stdin))
        finally:
            self._calling.pop()
        if quietly:
            self.parts[made:] = [_only_certain(part) for part in self.parts[made:]]
        return result


def _mixed(out: Value) -> Value:
    return UNKNOWN_OUTPUT if out else NO_OUTPUT


def _only_certain(part: Part) -> Part:
    """A command in a function that nobody was seen to call: what is not known about it does not count yet."""
    if not part.command.unread:
        return part
    return part._replace(command=part.command._replace(unread="", inert=True))
