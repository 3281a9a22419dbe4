"""Random tiers, effects and answers for the tests of trust tiers."""

from __future__ import annotations

from hypothesis import strategies as st

from stanch.policy.building import build
from stanch.policy.document import parse
from stanch.policy.layers import NO_OBJECTION
from stanch.tiers.answers import Given
from stanch.tiers.layer import TierLayer
from stanch.tiers.tier import Tier, Tiers
from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall, Stamp
from stanch.values.command import Weight

CLASSES = ("read", "write", "execute")
WORDS = ("allow", "ask", "deny")
Cell = dict[str, str]


def tier_of(cells: list[Cell], otherwise: str = "allow", workspace: str = "/") -> Tier:
    """The tier of these cells, read by way of a policy file."""
    same = ", ".join(f'{cls.value} = "{otherwise}"' for cls in EffectClass)
    text = f'version = 1\n[tiers.t]\nlabel = "T"\notherwise = {{ {same} }}\n'
    for cell in cells:
        text += "[[tiers.t.cells]]\n" + "".join(f'{key} = "{word}"\n' for key, word in cell.items())
    policy = build(parse(text, "stanch.toml"), workspace=workspace, home="/home")
    assert policy.problems == ()
    return Tiers(policy).tiers["t"]


def strengths(layer: TierLayer, call: JudgedCall) -> list[int]:
    said = layer.ask(call)
    assert isinstance(said, list) or said is NO_OBJECTION
    answers = said if isinstance(said, list) else [None] * len(call.effects)
    return [-1 if answer is None else answer.strength for answer in answers]


NAMES = st.sampled_from(["a", "b", "ab"])
GLOBS = st.sampled_from(["a", "b", "*", "?", "a*", "*b", "a*b", "?*", "**", "**"])
PATTERNS = st.lists(GLOBS, min_size=0, max_size=5).map(lambda parts: "/" + "/".join(parts))
PATHS = st.lists(NAMES, max_size=6).map(lambda names: "/" + "/".join(names))
CELLS = st.lists(
    st.builds(
        lambda path, said: {"path": path, **said},
        PATTERNS,
        st.dictionaries(st.sampled_from(CLASSES), st.sampled_from(WORDS), min_size=1),
    ),
    max_size=6,
)


def effect(cls: EffectClass, path: str, below: tuple[str, ...] | None, possible: bool) -> CallEffect:
    stamp = Stamp(path, path, path)
    return CallEffect(
        cls,
        "path",
        None if cls in (EffectClass.EXECUTE, EffectClass.NETWORK) else stamp,
        below=None if below is None else Below(below),
        found=Weight.POSSIBLE if possible else None,
        places=(stamp,) if cls is EffectClass.EXECUTE else (),
    )


EFFECTS = st.lists(
    st.builds(
        effect, st.sampled_from(EffectClass), PATHS, st.none() | st.lists(PATHS, max_size=3).map(tuple), st.booleans()
    ),
    min_size=1,
    max_size=3,
).map(tuple)
GIVEN = st.lists(
    st.builds(Given, st.just("t"), st.sampled_from(EffectClass), PATHS, st.booleans(), st.booleans()), max_size=4
)
