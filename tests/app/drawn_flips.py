"""Small policies, small worlds of calls, and who asks, drawn at random: for tests of what would change an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from stanch.app.beside import Party
from stanch.app.engine import Engine, Session
from stanch.app.flipping import Flipping, Flips, Suggested
from stanch.app.loading import open_engine, read_document
from stanch.app.recorded import Recorded
from stanch.policy.changes import Change, GrantChange, Owner, changed, granted, quoted
from stanch.values.call import ToolCall
from stanch.values.context import RunContext
from stanch.values.decision import Effect

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "a/x"}),
    ("Read", {"file_path": "a/y"}),
    ("Read", {"file_path": "b/x"}),
    ("Write", {"file_path": "a/x"}),
    ("Write", {"file_path": "b/deep/x"}),
    ("Edit", {"file_path": "a/x"}),
    ("Bash", {"command": "git push origin"}),
    ("Bash", {"command": "cat a/x"}),
    ("Bash", {"command": "make && make test"}),
    ("Bash", {"command": "sort a/y > b/x"}),
    ("Grep", {"pattern": "x", "path": "."}),
    ("WebFetch", {"url": "https://example.com", "prompt": "x"}),
    ("frobnicate", {"path": "a/x"}),
    ("move_file", {"source": "a/x", "destination": "b/y"}),
    ("move_it", {"source": "a/x", "destination": "b/y"}),
    ("write_file", {"path": "memory/a", "content": "x"}),
    ("Bash", {"command": "$X y"}),
]
DECLARED = """\
[tools.move_it]
effects = [{class = "write", argument = "source"}, {class = "write", argument = "destination"}]
"""
TOOLS = ["*", "@read", "@write", "@execute", "@network", "Read", "Write", "Bash", "frob*", "read_file", "write_file"]
PATHS = [None, None, "a", "a/x", "/**/x", "b/*", "**"]
COMMANDS = [None, None, None, "git *", "git push origin", "cat *", "make *"]
WORDS = ["allow", "ask", "deny"]
CLASSES = ("read", "write", "execute", "network")
BOT = Owner("agent", "bot")


@st.composite
def rules(draw: st.DrawFn) -> str:
    """One rule of a group, as a file has it."""
    tool = draw(st.sampled_from(TOOLS))
    action = draw(st.sampled_from(WORDS))
    lines = [f"tool = {quoted(tool)}", f'action = "{action}"']
    command = draw(st.sampled_from(COMMANDS)) if tool in ("*", "@execute", "Bash") else None
    path = draw(st.sampled_from(PATHS)) if command is None else None
    lines += [] if path is None else [f"path = {quoted(path)}"]
    lines += [] if command is None else [f"command = {quoted(command)}"]
    if draw(st.integers(0, 4)) == 0:
        lines.append(f"priority = {draw(st.sampled_from([5, 200]))}")
    if action != "allow" and draw(st.integers(0, 5)) == 0:
        lines.append("mandatory = true")
    if draw(st.integers(0, 6)) == 0:
        lines.append('agent = "bot"')
    return "\n".join(["# a rule", "[[groups.rules]]", *lines, ""])


@st.composite
def tiers(draw: st.DrawFn) -> str:
    """A tier for every model: what it says of each class, and of one or two paths."""
    otherwise = dict.fromkeys(CLASSES, "allow") | {draw(st.sampled_from(CLASSES)): draw(st.sampled_from(WORDS))}
    cells = []
    for path in draw(st.lists(st.sampled_from(["a", "b/*", "/**/x", "b"]), min_size=1, max_size=2, unique=True)):
        said = draw(st.dictionaries(st.sampled_from(CLASSES[:3]), st.sampled_from(WORDS), min_size=1, max_size=2))
        cells.append(f"{{ path = {quoted(path)}, " + ", ".join(f'{k} = "{v}"' for k, v in said.items()) + " }")
    words = ", ".join(f'{cls} = "{word}"' for cls, word in otherwise.items())
    table = f'[tiers.t]\nlabel = "T"\notherwise = {{ {words} }}\n'
    return f'[models]\ndefault_tier = "t"\n{table}cells = [{", ".join(cells)}]\n'


@st.composite
def policies(draw: st.DrawFn) -> str:
    """A policy file: a group or two of a handful of rules, perhaps a grant, perhaps a tier."""
    text = 'version = 1\nworkspace = "w"\n'
    if draw(st.integers(0, 5)):
        text += '[[groups]]\nid = "default"\n' + "".join(draw(st.lists(rules(), max_size=4)))
    if draw(st.booleans()):
        text += '[[groups]]\nid = "jobs"\n' + "".join(draw(st.lists(rules(), max_size=3)))
    if draw(st.integers(0, 2)) == 0:
        text += '[sessions.defaults.agent.bot]\nallow_fs_reads = ["b"]\n'
    if draw(st.booleans()):
        text += draw(tiers())
    return text + DECLARED


CONTEXTS: list[RunContext | None] = [
    RunContext(),
    RunContext(allow_fs_reads=("a",)),
    RunContext(allow_fs_writes=("b", "a/x")),
    RunContext(allow_fs_reads=("a/x", "."), allow_fs_writes=("a",)),
]
WHO: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from([{}, {"agent": "bot"}, {"group": "jobs"}, {"model": "m/x"}, {"group": "jobs", "model": "m/x"}]),
    st.fixed_dictionaries(
        {"context": st.sampled_from(CONTEXTS)},
        optional={"model": st.just("m/x"), "group": st.just("jobs"), "agent": st.just("bot")},
    ),
)


def root_of(tmp_path: Path) -> Path:
    """A directory with the few files that calls are about."""
    for name in ("a", "b/deep"):
        (tmp_path / "w" / name).mkdir(parents=True)
    for name in ("a/x", "a/y", "b/x"):
        (tmp_path / "w" / name).write_text("x", "utf-8")
    return tmp_path.resolve()


class Beside(NamedTuple):
    """What stands beside rules and tiers: what `Engine.session` takes for it, and the sessions above, nearest last."""

    given: Mapping[str, Any] = {}
    above: tuple[Mapping[str, Any], ...] = ()


ALONE = Beside()


class World:
    """A policy file on disk, who asks, and a small universe of calls."""

    def __init__(self, root: Path, text: str, who: dict[str, Any], beside: Beside = ALONE) -> None:
        self.file = root / "stanch.toml"
        self.file.write_text(text, "utf-8")
        self.who, self.beside = who, beside
        self.engine = open_engine(self.file)

    @property
    def owner(self) -> Owner | None:
        """Whose default the session's run context is."""
        return BOT if self.who.get("agent") == "bot" and "context" not in self.who else None

    def session(self, engine: Engine | None = None, context: RunContext | None = None) -> Session:
        """The session, perhaps of another engine, perhaps with another context of its own."""
        engine = self.engine if engine is None else engine
        above = None
        for one in self.beside.above:
            above = engine.session(**one, under=above)
        who = self.who if context is None else self.who | {"context": context}
        return engine.session(**who, **self.beside.given, under=above)

    def flips(self, call: tuple[str, dict[str, Any]], to: Effect, *, hooks: bool = True) -> Flips:
        """What is said of the call, with all others on record."""
        session = self.session()
        decision = session.check(*call, trace=True, hooks=hooks)
        parties = [Party(one) for one in session.line]
        others = [
            Recorded(ToolCall(*one), parties, str(at), shares_context=True)
            for at, one in enumerate(CALLS)
            if one != call
        ]
        document = read_document(self.file)
        return Flipping(parties, decision, document, owner=self.owner, recorded=others).flips(to)

    def again(self, one: Suggested) -> Session:
        """The session once somebody has applied the change."""
        if one.patch.text is None:
            assert isinstance(one.change, GrantChange)
            return self.session(context=granted(self.session().context.written, one.change))
        self.file.write_text(one.patch.text, "utf-8")
        engine = open_engine(self.file)
        assert not [problem for problem in engine.policy.problems if not problem.warning], engine.policy.problems
        return self.session(engine)

    def changed(self, change: Change) -> Session:
        """The session with the change made in a copy of the policy, or of its own run context."""
        context = None
        if isinstance(change, GrantChange) and change.owner is None:
            context = granted(self.session().context.written, change)
        return self.session(self.engine.with_policy(changed(self.engine.policy, change)), context)
