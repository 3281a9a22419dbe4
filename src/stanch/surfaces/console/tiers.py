"""`/console/tiers`: which model is in which trust tier, what each tier says, and what that comes to in the workspace.

Settles what a person sees of the tiers. Does not settle what a tier says of a path (`tiers.tier`), nor what an entry of
the workspace is (`app.tier_tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.app.service import Service
from stanch.app.sessions import naming
from stanch.policy.document import Policy, TierSpec
from stanch.policy.lint import Finding
from stanch.policy.model_names import fits
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.tier_folders import CLASSES, Branch, branch_of
from stanch.tiers.tier import Tiers, TiersBroken
from stanch.values.call import EffectClass
from stanch.values.fault import BadFields, Problem
from stanch.values.records import Broken

PAGE = "/console/tiers"
MOST_SESSIONS = 200
LONGEST_NUMBER = 7


class Member(NamedTuple):
    """A model that is known here, and the pattern that put it into its tier; None for the default tier."""

    name: str
    pattern: str | None


class Cell(NamedTuple):
    """One cell of a tier: its path, what it says by class, where it is written, and what lint says of it."""

    path: str
    says: Sequence[tuple[str, str]]
    place: str
    findings: Sequence[Finding]


class TierCard(NamedTuple):
    """A tier as the page shows it, with the patterns and the known models that are in it."""

    spec: TierSpec
    place: str
    is_default: bool
    patterns: Sequence[str]
    members: Sequence[Member]
    cells: Sequence[Cell]
    otherwise: Sequence[tuple[str, str]]


def page(asked: Asked) -> Response:
    """The whole page, with the tree of one tier and perhaps a model that was tried."""
    service, policy = asked.service, asked.service.policy
    tiers = Tiers(policy)
    tier = asked.get("tier") or tiers.default
    tree: Branch | None = None
    if tiers.broken is None:
        tree = branch_of(asked, tier, asked.get("path"), start=_start(asked), opened=asked.fields.get("open", ()))
    known = _known(service)
    return asked.page(
        "tiers.html.j2",
        at="tiers",
        wide=True,
        file=service.policy_file is not None,
        broken=tiers.broken,
        problems=_problems(policy),
        cards=_cards(service, tiers, known),
        names=[spec.id for spec in _ordered(policy)],
        models=known,
        tier=tier,
        tree=tree,
        cls=_class(asked),
        classes=CLASSES,
        **_tried(asked, tiers),
    )


def folder(asked: Asked) -> Response:
    """The entries of one folder, as a tier speaks of them."""
    branch = branch_of(asked, asked.get("tier"), asked.get("path"), start=_start(asked))
    return asked.page("tier_folder.html.j2", branch=branch)


def _start(asked: Asked) -> int:
    start = asked.get("start")
    return int(start) if start.isascii() and start.isdigit() and len(start) < LONGEST_NUMBER else 0


def _class(asked: Asked) -> str:
    wanted = asked.get("cls")
    return wanted if wanted in CLASSES else CLASSES[0]


def _tried(asked: Asked, tiers: Tiers) -> dict[str, Any]:
    """The model that was asked about, with its tier, the pattern that decided, and those that would fit as well."""
    model = asked.get("model").strip()
    said: dict[str, Any] = {"model": model, "assigned": None, "also": [], "wrong": ""}
    if not model:
        return said
    try:
        naming(model)
        found = said["assigned"] = tiers.assignment(model)
        assignments = asked.service.policy.assignments
        also = [(one, tier) for one, tier in assignments.items() if one != found.pattern and fits(one, model)]
        said["also"] = also
    except (BadFields, TiersBroken) as why:
        said["wrong"] = asked.failing.sentence(why)
    return said


def _known(service: Service) -> list[str]:
    """The models of the policy's agents and exact names, and those of newer sessions."""
    policy = service.policy
    names = [one.model for one in policy.agents.values()] + [name for name in policy.assignments if "*" not in name]
    sessions = service.sessions.list(limit=MOST_SESSIONS).items
    names += [one.model for one in sessions if not isinstance(one, Broken)]
    return list(dict.fromkeys(one for one in names if one))


def _problems(policy: Policy) -> list[Problem]:
    """What is wrong with the tiers, or with the file as a whole, by its line."""
    scopes = ("tiers", "policy")
    found = [one for one in policy.problems if one.scope in scopes and (not one.warning or one.scope == "tiers")]
    return sorted(found, key=lambda one: (one.warning, one.line))


def _cards(service: Service, tiers: Tiers, known: Sequence[str]) -> list[TierCard]:
    policy, findings = service.policy, service.overview.findings()
    members: dict[str, list[Member]] = {}
    for name in known if tiers.broken is None else ():
        found = tiers.assignment(name)
        members.setdefault(found.tier.id, []).append(Member(name, found.pattern))
    return [
        TierCard(
            spec,
            spec.places[0],
            spec.id == tiers.default,
            [pattern for pattern, tier in policy.assignments.items() if tier == spec.id],
            members.get(spec.id, []),
            [_cell(spec, at, findings) for at in range(len(spec.cells))],
            [(cls.value, spec.otherwise[cls.value].value) for cls in EffectClass],
        )
        for spec in _ordered(policy)
    ]


def _ordered(policy: Policy) -> list[TierSpec]:
    """The tiers of the file, then those that ship."""
    return sorted(policy.tiers.values(), key=lambda spec: spec.shipped)


def _cell(spec: TierSpec, at: int, findings: Sequence[Finding]) -> Cell:
    cell, place = spec.cells[at], spec.places[at + 1]
    said = [] if spec.shipped else [one for one in findings if not one.group and one.place == place]
    return Cell(cell["path"], [(name, cell[name]) for name in CLASSES if name in cell], place, said)
