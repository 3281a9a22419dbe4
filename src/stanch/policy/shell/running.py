"""Going through a shell command as bash would, without running anything: every way it may take, every command on it.

Settles lists, pipes, groups, subshells, control flow and functions: which commands may run, from which directory, with
which variables. Does not settle what a simple command does (`policy.shell.commands`) nor what a word comes to
(`policy.shell.expanding`).
INVARIANT: where it is not sure which way is taken, all are; a form of syntax that is not known is unread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stanch.policy.shell import expanding
from stanch.policy.shell.arithmetic import nested
from stanch.policy.shell.commands import Commands
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Under, Value, Word
from stanch.policy.shell.reading import (
    DEEPEST,
    MOST_BYTES,
    MOST_PARTS,
    MOST_STEPS,
    Found,
    Part,
    TooMuch,
    Unparsed,
    World,
    shown,
    unread_part,
)
from stanch.policy.shell.redirects import Redirects
from stanch.policy.shell.state import State, either
from stanch.policy.shell.verbs import Verbs
from stanch.values.call import Command

Node = Mapping[str, Any]
UNKNOWN_OUTPUT: Value = (Hole("the output of a command"),)
NO_OUTPUT: Value = ()


class Result(NamedTuple):
    """What comes after a statement: the state where it went well, where it failed (None: it cannot), what it prints."""

    ok: State | None
    fail: State | None
    out: Value = UNKNOWN_OUTPUT

    @property
    def after(self) -> State | None:
        """The state after it, whichever way it went."""
        return either(self.ok, self.fail)


def read(text: str, cwd: str, world: World, verbs: Verbs) -> list[Part]:
    """Every simple command that the text would run when bash is given it in the directory, with its effects.

    What cannot be read is a part that says so. The text itself is never in an error.
    """
    run = Run(world, verbs)
    try:
        run.script(text, State((cwd,)), None)
    except TooMuch as why:
        return [unread_part(text, why.cause), *run.parts[:MOST_PARTS]]
    except RecursionError:
        return [unread_part(text, "it is nested too deeply"), *run.parts[:MOST_PARTS]]
    return run.parts or [Part(Command(shown(text), inert=True))]


class Run:
    """One going-through: what was found so far, and what is left of the limits."""

    def __init__(self, world: World, verbs: Verbs) -> None:
        self.world, self.verbs = world, verbs
        self.parts: list[Part] = []
        self.written: dict[str, str | None] = {}
        self.links: set[str] = set()
        self.home = world.home
        self.notes: list[str] = []
        self._steps = 0
        self._depth = 0
        self._calling: list[str] = []
        self.commands = Commands(self)
        self.redirects = Redirects(self)

    # --- what expanding asks for ---------------------------------------------------------------------------------

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""
        return self.world.home_of(user)

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""
        self.notes.append(why)

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
        if self._depth > DEEPEST:
            raise TooMuch("it is nested too deeply")
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
        command = node.get("Cmd")
        notes, self.notes = self.notes, []
        opened = self.redirects.open(node.get("Redirs") or [], state, stdin)
        kind = "" if command is None else command.get("Type")
        if command is not None and kind in ("CallExpr", "DeclClause"):
            result = self.commands.call(command, state, opened)
        else:
            if opened.found or opened.unread or self.notes:
                unread = opened.unread or (self.notes[0] if self.notes else "")
                self.parts.append(Part(Command(shown(opened.shown or "a word"), inert=True, unread=unread), opened.found))
            result = self._compound(command, kind, state, opened.stdin)
            if command is None:
                result = Result(result.ok, state, opened.output)
        self.notes = notes
        if opened.elsewhere:
            result = Result(result.ok, result.fail, NO_OUTPUT)
        if node.get("Negated"):
            result = Result(result.fail or result.ok, result.ok, result.out)
        if node.get("Background") or node.get("Coprocess"):
            return Result(state, None, UNKNOWN_OUTPUT if result.out else NO_OUTPUT)
        return result

    def _compound(self, node: Node | None, kind: str, state: State, stdin: Value | None) -> Result:
        if node is None:
            return Result(state, None, NO_OUTPUT)
        go = getattr(self, f"_{kind.lower()}", None) if kind in _COMPOUND else None
        if go is None:
            for inner in nested(node):
                self.output(inner, state)
            self.parts.append(Part(Command(f"a form of syntax that is not known ({kind})", unread="its syntax")))
            return Result(replace(state, lost=True), replace(state, lost=True))
        found: Result = go(node, state, stdin)
        return found

    def _binarycmd(self, node: Node, state: State, stdin: Value | None) -> Result:
        op = node.get("Op")
        if op in ("|", "|&"):
            left = self.statement(node["X"], state, stdin)
            right = self.statement(node["Y"], state, left.out if op == "|" else _mixed(left.out))
            return Result(either(state, right.ok), either(state, right.fail), right.out)
        left = self.statement(node["X"], state, stdin)
        start, other = (left.ok, left.fail) if op == "&&" else (left.fail, left.ok)
        if start is None:
            return Result(left.ok, left.fail, left.out)
        right = self.statement(node["Y"], start, stdin)
        out = right.out if not left.out else (left.out if not right.out else UNKNOWN_OUTPUT)
        if op == "&&":
            return Result(right.ok, either(other, right.fail), out)
        return Result(either(other, right.ok), right.fail, out)

    def _block(self, node: Node, state: State, stdin: Value | None) -> Result:
        return self.statements(node.get("Stmts") or [], state, stdin)

    def _subshell(self, node: Node, state: State, stdin: Value | None) -> Result:
        return Result(state, state, self.statements(node.get("Stmts") or [], state, stdin).out)

    def _ifclause(self, node: Node, state: State, stdin: Value | None) -> Result:
        condition = self.statements(node.get("Cond") or [], state, stdin)
        then = self._from(node.get("Then"), condition.ok, stdin)
        other = node.get("Else")
        if not other:
            rest = Result(condition.fail, None, NO_OUTPUT)
        elif other.get("Cond"):
            rest = Result(None, None, NO_OUTPUT) if condition.fail is None else self._ifclause(other, condition.fail, stdin)
        else:
            rest = self._from(other.get("Then"), condition.fail, stdin)
        return _either(then, rest)

    def _from(self, nodes: Any, state: State | None, stdin: Value | None) -> Result:
        return Result(None, None, NO_OUTPUT) if state is None else self.statements(nodes or [], state, stdin)

    def _whileclause(self, node: Node, state: State, stdin: Value | None) -> Result:
        def once(before: State) -> State | None:
            condition = self.statements(node.get("Cond") or [], before, stdin)
            start = condition.fail if node.get("Until") else condition.ok
            inside = self._from(node.get("Do"), start, stdin)
            return either(either(condition.ok, condition.fail), inside.after)

        after = self._looped(state, once)
        return Result(after, after, UNKNOWN_OUTPUT)

    def _forclause(self, node: Node, state: State, stdin: Value | None) -> Result:
        loop = node.get("Loop") or {}
        name = loop.get("Name", {}).get("Value", "")
        if loop.get("Type") != "WordIter":
            state = expanding.arithmetic(loop, state, self)
            choices: list[tuple[Value, ...]] = []
        elif loop.get("Items") is None and "Items" not in loop and state.arguments is not None:
            choices = [state.arguments]
        elif "Items" not in loop:
            choices = [((Hole("an argument that is not known"),),)]
        else:
            found = expanding.fields(loop["Items"], state, self)
            choices = [self._items(words, state) for words in found]
        self.redirects.flush(self, shown(f"for {name}" if name else "for"))
        values = tuple(dict.fromkeys(value for chosen in choices for value in chosen))
        if name and self.commands.changes_what_runs(name):
            self.parts.append(Part(Command(f"for {name}", unread=f"a loop over {name}, which changes what runs")))
        if choices and not values:
            return Result(state, None, NO_OUTPUT)

        def once(before: State) -> State | None:
            return either(before, self._from(node.get("Do"), before, stdin).after)

        ends: State | None = None
        outs: list[Value] = []
        for chunk in _chunks(values) if name else [()]:
            begin = state.with_variable(name, chunk) if name else state
            count = len(self.parts)
            end = self._looped(begin, once)
            ends = either(ends, end)
            outs.append(UNKNOWN_OUTPUT if len(self.parts) > count else NO_OUTPUT)
            state = either(state, end) or state
        return Result(ends or state, ends or state, UNKNOWN_OUTPUT if any(outs) else NO_OUTPUT)

    def _items(self, words: Sequence[Word], state: State) -> tuple[Value, ...]:
        found: list[Value] = []
        for word in words:
            if word.wild:
                found.extend((piece,) for piece in self.commands.names(word, state))
            elif word.many:
                found.append((Hole(word.why or "a word that is not known"),))
            else:
                found.append(expanding.value_of(word))
        return tuple(found)

    def _looped(self, state: State, once: Any) -> State:
        """The state after a body that runs any number of times: gone through until nothing new comes of it."""
        for _ in range(3):
            after = once(state)
            joined = either(state, after) or state
            if joined == state:
                return state
            state = joined
        changed = {name for name, held in state.variables.items() if len(held) > 1}
        for name in changed:
            state = state.with_variable(name, ((Hole("a variable that a loop changes"),),))
        if len(state.cwds) > 2:
            state = replace(state, lost=True)
        once(state)
        return state

    def _caseclause(self, node: Node, state: State, stdin: Value | None) -> Result:
        expanding.values(node.get("Word") or {}, state, self)
        result = Result(state, None, NO_OUTPUT)
        before: State | None = None
        for item in node.get("Items") or []:
            for pattern in item.get("Patterns") or []:
                expanding.values(pattern, state, self)
            inside = self._from(item.get("Stmts"), either(state, before), stdin)
            before = inside.after if item.get("Op") in (";&", ";;&") else None
            result = _either(result, inside)
        self.redirects.flush(self, "case")
        return result

    def _funcdecl(self, node: Node, state: State, stdin: Value | None) -> Result:
        name = node.get("Name", {}).get("Value", "")
        after = state.with_function(name, (node.get("Body") or {},))
        # WHY: a trap, a hook of the shell or another program may call it; whatever it does counts, called or not.
        if self._depth < DEEPEST and name not in self._calling:
            self.function(name, (node.get("Body") or {},), replace(after, arguments=None), stdin, quietly=True)
        return Result(after, None, NO_OUTPUT)

    def function(
        self, name: str, bodies: Sequence[Node | None], state: State, stdin: Value | None, *, quietly: bool = False
    ) -> Result:
        """Goes through a function that is called. `quietly`: only its certain effects count, since nobody may call it."""
        if name in self._calling or len(self._calling) >= DEEPEST:
            self.parts.append(Part(Command(shown(name), name, unread="a function that calls itself")))
            return Result(state, state)
        self._calling.append(name)
        kept = len(self.parts)
        try:
            result = Result(None, None, NO_OUTPUT)
            for body in bodies:
                if body is not None:
                    result = _either(result, self.statement(body, state, stdin))
        finally:
            self._calling.pop()
        if quietly:
            self.parts[kept:] = [_only_certain(part) for part in self.parts[kept:]]
        return result

    def _testclause(self, node: Node, state: State, _: Value | None) -> Result:
        self._test(node.get("X"), state)
        self.redirects.flush(self, "[[ … ]]")
        return Result(state, state, NO_OUTPUT)

    def _test(self, node: Any, state: State) -> None:
        op = node.get("Op") if isinstance(node, Mapping) else None
        if op in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"):
            expanding.arithmetic(node, state, self)
            if "[" in str(node) and ("$(" in str(node) or "CmdSubst" in str(node)) and op == "-v":
                self.note("a test of an element of a list")
            return
        if op is not None and node.get("Type") in ("BinaryTest", "UnaryTest", "ParenTest"):
            for key in ("X", "Y"):
                if node.get(key):
                    self._test(node[key], state)
            return
        expanding.search(node, state, self)

    def _arithmcmd(self, node: Node, state: State, _: Value | None) -> Result:
        after = expanding.arithmetic(node.get("X"), state, self)
        self.redirects.flush(self, "(( … ))")
        return Result(after, after, NO_OUTPUT)

    def _letclause(self, node: Node, state: State, _: Value | None) -> Result:
        after = expanding.arithmetic(node.get("Exprs"), state, self)
        self.redirects.flush(self, "let")
        return Result(after, after, NO_OUTPUT)

    def _timeclause(self, node: Node, state: State, stdin: Value | None) -> Result:
        inner = node.get("Stmt")
        return self.statement(inner, state, stdin) if inner else Result(state, None, NO_OUTPUT)

    def _coprocclause(self, node: Node, state: State, _: Value | None) -> Result:
        self.statement(node.get("Stmt") or {}, state, UNKNOWN_OUTPUT)
        return Result(state, None, NO_OUTPUT)


_COMPOUND = frozenset(
    "BinaryCmd Block Subshell IfClause WhileClause ForClause CaseClause FuncDecl TestClause ArithmCmd LetClause "
    "TimeClause CoprocClause".split()  # noqa: SIM905
)


def _either(one: Result, other: Result) -> Result:
    out = one.out if not other.out else (other.out if not one.out else UNKNOWN_OUTPUT)
    return Result(either(one.ok, other.ok), either(one.fail, other.fail), out)


def _mixed(out: Value) -> Value:
    return out if not out or isinstance(out[0], Hole) else UNKNOWN_OUTPUT


def _chunks(values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    return [values[at : at + 6] for at in range(0, len(values), 6)] or [()]


def _only_certain(part: Part) -> Part:
    """A command in a function that nobody was seen to call: what is not known about it does not count yet."""
    if not part.command.unread:
        return part
    found: tuple[Found, ...] = part.found
    return Part(part.command._replace(unread="", inert=True), found, part.scripts)
