"""Does every reason code have a sentence, an entry in docs/reasons.md and a case that expects it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stanch.explain import TEMPLATES, sentence
from stanch.values.reason import Code, LayerId, Reason, RuleRef

RULE = RuleRef(id=12, group="jobs", place="stanch.toml:6", words="deny read_file on secrets/**", note="kept apart")

# An entry of docs/reasons.md: a heading, list item or table row that begins with the code.
ENTRY = re.compile(r"^(?:#+|[-*]|\|) *`([a-z_]+)`", re.MULTILINE)

# Keys of a case whose value begins with the code that the case expects.
CODE_KEYS = frozenset({"because", "code", "reason", "is", "withheld"})


def entries(page: str) -> list[str]:
    """The codes that a page of reasons describes, in order."""
    return ENTRY.findall(page)


def codes_named(node: object) -> Iterator[str]:
    """The first word under every key of a case file that holds a reason."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in CODE_KEYS:
                words = value if isinstance(value, list) else [value]
                yield from (word.split()[0].strip(",:;") for word in words if isinstance(word, str) and word.strip())
            yield from codes_named(value)
    elif isinstance(node, list):
        for item in node:
            yield from codes_named(item)


def test_every_code_has_a_template_and_no_other_has() -> None:
    assert set(TEMPLATES) == set(Code)
    blank = [code.value for code in Code if not TEMPLATES[code].strip()]
    assert not blank, f"codes with an empty template: {blank}"


@pytest.mark.parametrize("rule", [None, RULE], ids=["without a rule", "with a rule"])
@pytest.mark.parametrize("code", list(Code))
def test_every_code_reads_as_one_sentence(code: Code, rule: RuleRef | None) -> None:
    said = sentence(Reason(code, LayerId.PERSISTED_RULES, rule, subject="data/notes.md", detail="timeout"))
    assert said == said.strip()
    assert len(said.split()) >= 3, f"{code} is no sentence: {said!r}"
    assert said[0].isupper(), f"{code} does not begin as a sentence does: {said!r}"
    assert not set("\n{}") & set(said), f"{code} has an unfilled or broken template: {said!r}"
    assert "None" not in said, f"{code} shows an absent value: {said!r}"


def test_the_sentence_of_a_rule_names_the_rule_and_the_subject() -> None:
    said = sentence(Reason(Code.RULE, LayerId.PERSISTED_RULES, RULE, subject="secrets/api.key"))
    for part in ("12", "jobs", RULE.words, "secrets/api.key"):
        assert part in said, f"{part!r} is missing from {said!r}"


def test_every_code_has_one_entry_in_the_docs(root: Path) -> None:
    described = entries((root / "docs" / "reasons.md").read_text("utf-8"))
    known = [code.value for code in Code]
    assert sorted(described) == sorted(known), (
        f"missing: {sorted(set(known) - set(described))}, unknown: {sorted(set(described) - set(known))}, "
        f"twice: {sorted({code for code in described if described.count(code) > 1})}"
    )


def test_every_code_is_expected_by_a_case(root: Path) -> None:
    files = sorted((root / "spec").rglob("*.yaml"))
    assert files, "there are no cases under spec/"
    named = {code for path in files for code in codes_named(yaml.safe_load(path.read_text("utf-8")))}
    # WHY: the answer to a call is given by the command beside the one that does nothing; only its line has this code.
    missing = sorted({code.value for code in Code} - named - {Code.NOTHING_BY_ITSELF.value})
    assert not missing, f"codes that no case under spec/ expects (keys {sorted(CODE_KEYS)}): {missing}"


def test_only_entries_count_as_entries() -> None:
    page = "# Reasons\n\n## `rule`\n\nSee `no_match` and\n- `bypass`: said\n| `layer_failed` | said |\n`runs_code`\n"
    assert entries(page) == ["rule", "bypass", "layer_failed"]


def test_only_expectations_name_codes() -> None:
    case = {"why": "a rule is read", "cases": [{"it": "no_match", "because": "rule 2"}, {"expect": {"code": "bypass"}}]}
    assert set(codes_named(case)) == {"rule", "bypass"}
