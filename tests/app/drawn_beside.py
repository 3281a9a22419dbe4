"""What stands beside rules and tiers, drawn at random: policies, hooks, sessions above, an organization, rows."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from stanch.app.case_organization import organization_of
from stanch.gate.relax import Bypass
from stanch.policies import PolicyRequest, Rewrite, Says
from stanch.policy.layers import NO_OBJECTION, LayerAnswer
from stanch.values.call import JudgedCall
from stanch.values.context import RunContext
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from tests.app.drawn_flips import Beside

ABOUT = ("*", "Read", "Write", "Edit", "Bash")
SKILLS = """\
[[skills]]
id = "calm"
rules = [{tool = "@write", path = "b"}, {tool = "*", command = "git *"}]
"""
ROWS = [
    {"tool": "*", "action": "ask"},
    {"tool": "@write", "action": "ask", "path": "a"},
    {"tool": "@read", "action": "ask", "path": "a/x", "real_approval": True},
    {"tool": "@write", "action": "deny", "path": "b"},
    {"tool": "Bash", "action": "ask"},
]


class Always:
    """A policy or a hook that says one word of calls of some tools: an effect, or that it breaks or rewrites."""

    def __init__(self, word: str, tool: str) -> None:
        self.word, self.tool = word, tool

    def __repr__(self) -> str:
        return f"Always({self.word!r}, {self.tool!r})"

    def __call__(self, request: PolicyRequest) -> Any:
        if self.tool not in ("*", request.tool) or self.word == "nothing":
            return None
        if self.word == "breaks":
            raise RuntimeError("on purpose")
        if self.word == "rewrites":
            elsewhere = {**request.arguments, "file_path": "b/x"}
            return None if request.arguments == elsewhere else Rewrite(elsewhere)
        return Says(Effect(self.word), "because")


class Given:
    """A layer that a program gives by itself, of any id and in a thread or not; the same answer to each effect."""

    def __init__(self, layer: LayerId, effect: Effect | None, *, mandated: bool, immediate: bool) -> None:
        self.id, self.immediate = layer, immediate
        self.effect, self.mandated = effect, mandated

    def __repr__(self) -> str:
        return f"Given({self.id}, {self.effect}, {self.mandated}, {self.immediate})"

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The same answer for each effect."""
        if self.effect is None:
            return NO_OBJECTION
        mandated = self.mandated and self.effect is Effect.ASK
        return [Answer(self.effect, Code.RULE, self.id, mandated=mandated)] * len(call.effects)


WORDS = st.sampled_from(["nothing", "nothing", "ask", "deny", "breaks", "rewrites"])
POLICIES = st.builds(Always, WORDS, st.sampled_from(ABOUT))
GIVEN = st.builds(
    Given,
    st.sampled_from([LayerId.NARROWING, LayerId.SKILL_ROWS, LayerId.CALLER_POLICY, LayerId.ORG_RULES, LayerId.TIER]),
    st.sampled_from([None, Effect.ASK, Effect.DENY]),
    mandated=st.booleans(),
    immediate=st.booleans(),
)
ORGANIZATIONS = [
    organization_of({"state": state, "rules": [row]})
    for state in ("current", "stale", "unavailable")
    for row in (
        {"tool": "@write", "path": "a", "action": "deny"},
        {"tool": "@read", "path": "a/x", "action": "ask"},
        {"tool": "frobnicate", "action": "deny"},
        {"tool": "Bash", "action": "ask"},
    )
]
ABOVE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "policy": POLICIES,
        "narrowing": st.lists(st.sampled_from(ROWS), max_size=1),
        "group": st.just("jobs"),
        "context": st.just(RunContext(allow_fs_writes=("b", "a/x"))),
        "layers": st.lists(GIVEN, max_size=1),
        "bypasses": st.just((Bypass(everything=True),)),
    },
)


@st.composite
def besides(draw: st.DrawFn) -> Beside:
    """One or two things that stand beside the rules, for one session, and sessions above it."""
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "policy": st.lists(POLICIES, min_size=1, max_size=2),
        "hooks": st.lists(POLICIES, min_size=1, max_size=2),
        "organization": st.sampled_from(ORGANIZATIONS),
        "skills": st.just(("calm",)),
        "narrowing": st.lists(st.sampled_from(ROWS), min_size=1, max_size=2),
        "layers": st.lists(GIVEN, min_size=1, max_size=2),
        "bypasses": st.just((Bypass(everything=True),)),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(kinds)), max_size=2))
    above = draw(st.lists(ABOVE, max_size=0 if draw(st.booleans()) else 2))
    return Beside({key: draw(kinds[key]) for key in sorted(chosen)}, tuple(above))


HEADS = [f'on_layer_failure = "{word}"\n' for word in ("ask", "deny")]
TABLES = [
    SKILLS,
    SKILLS + '[[narrowing]]\ntool = "@write"\npath = "a"\naction = "ask"\n',
    SKILLS + '[[narrowing]]\ntool = "Read"\naction = "ask"\nagent = "bot"\n',
]
