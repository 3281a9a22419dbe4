"""Do the sentences of the specification and the cases that prove them point at each other?

A sentence that holds MUST carries an id in square brackets: its page below spec/, and a number within the page. A case
claims sentences with `proves`: an id, or a number of the page that the file names as `spec`, or a list of either.
Code and code spans are no sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

ID = re.compile(r"\[([a-z][a-z0-9-]*(?:/[a-z0-9-]+)*\.[0-9]+)\]")
TAG = re.compile(r"SPEC: ([a-z][a-z0-9/-]*\.[0-9]+)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`[^`\n]*`")
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)|\n(?=\|)")


def sentences(page: str) -> list[str]:
    """The paragraphs, list items and table rows of a page that hold MUST."""
    prose = SPAN.sub("", FENCE.sub("", page))
    return [" ".join(block.split()) for block in BLOCK.split(prose) if re.search(r"\bMUST\b", block)]


def page_problems(name: str, page: str) -> list[str]:
    """What is wrong with the MUST sentences of one page; `name` is its path below spec/ without the ending."""
    problems: list[str] = []
    defined: Counter[str] = Counter()
    for block in sentences(page):
        own = [found for found in ID.findall(block) if found.startswith(f"{name}.")]
        defined.update(own)
        if not own:
            problems.append(f"spec/{name}.md: a MUST without an id of its own: {block[:80]!r}")
    problems += [f"spec/{name}.md: [{found}] is given twice" for found, count in defined.items() if count > 1]
    return problems


def defined_in(name: str, page: str) -> set[str]:
    """The ids that a page gives to its MUST sentences."""
    found = (one for block in sentences(page) for one in ID.findall(block))
    return {one for one in found if one.startswith(f"{name}.")}


def claims(node: object, page: str = "") -> Iterator[str]:
    """Every id that a case file claims to prove."""
    if isinstance(node, dict):
        page = str(node.get("spec", page))
        for key, value in node.items():
            if key == "proves":
                for one in value if isinstance(value, list) else [value]:
                    yield f"{page}.{one}" if isinstance(one, int) else str(one).strip("[]")
            else:
                yield from claims(value, page)
    elif isinstance(node, list):
        for item in node:
            yield from claims(item, page)


@pytest.fixture(scope="module")
def pages(root: Path) -> Mapping[str, str]:
    """Every page of the specification, by its path below spec/ without the ending."""
    spec = root / "spec"
    found = {path.relative_to(spec).with_suffix("").as_posix(): path for path in sorted(spec.rglob("*.md"))}
    return {name: path.read_text("utf-8") for name, path in found.items()}


@pytest.fixture(scope="module")
def proved(root: Path) -> Mapping[str, list[str]]:
    """Every id that a case claims, with the files that claim it."""
    found: dict[str, list[str]] = {}
    for path in sorted((root / "spec").rglob("*.yaml")):
        for one in claims(yaml.safe_load(path.read_text("utf-8"))):
            found.setdefault(one, []).append(path.relative_to(root).as_posix())
    return found


def test_every_must_has_one_id_of_its_own_page(pages: Mapping[str, str]) -> None:
    problems = [problem for name, page in pages.items() for problem in page_problems(name, page)]
    assert not problems, "\n".join(problems)


def test_sentences_and_cases_point_at_each_other(pages: Mapping[str, str], proved: Mapping[str, list[str]]) -> None:
    defined = {one for name, page in pages.items() for one in defined_in(name, page)}
    assert defined, "no page under spec/ holds a MUST sentence with an id"
    unproved = sorted(defined - set(proved))
    unknown = {one: files for one, files in proved.items() if one not in defined}
    assert not unproved, f"MUST sentences that no case proves: {unproved}"
    assert not unknown, f"cases that prove sentences which do not exist: {unknown}"


def test_every_id_that_is_mentioned_exists(pages: Mapping[str, str], modules: Mapping[str, Path]) -> None:
    defined = {one for name, page in pages.items() for one in defined_in(name, page)}
    texts = {f"spec/{name}.md": SPAN.sub("", FENCE.sub("", page)) for name, page in pages.items()}
    texts |= {name: path.read_text("utf-8") for name, path in modules.items()}
    mentioned = {name: {*ID.findall(text), *TAG.findall(text)} for name, text in texts.items()}
    lost = {name: sorted(ids - defined) for name, ids in mentioned.items() if ids - defined}
    assert not lost, f"ids that no sentence has: {lost}"


@pytest.mark.parametrize(
    ("page", "problems"),
    [
        ("A deny MUST win. [gate/order.1]\n", 0),
        ("A deny MUST win.\n", 1),
        ("- A deny MUST win. [gate/order.1]\n- An ask MUST wait.\n", 1),
        ("A MUST. [gate/order.1]\n\nB MUST. [gate/order.1]\n", 1),
        ("A deny MUST win, as [gate/silence.1] says.\n", 1),
        ("Write `MUST` sparingly, and:\n\n```\nit MUST\n```\n", 0),
    ],
)
def test_a_must_without_an_id_is_noticed(page: str, problems: int) -> None:
    assert len(page_problems("gate/order", page)) == problems


def test_claims_are_read_in_every_form() -> None:
    case = {"spec": "gate/order", "cases": [{"proves": 1}, {"proves": ["[gate/order.2]", "gate/silence.3", 4]}]}
    assert list(claims(case)) == ["gate/order.1", "gate/order.2", "gate/silence.3", "gate/order.4"]
