"""Does `stanch policy test` hold a policy against its owner's table, and name what is answered otherwise?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Stanch

ROOT = Path(__file__).resolve().parents[2]

WRONG = """why: Because.
given: {policy: ../stanch.toml}
cases:
  - it: reads
    call: {tool: read_file, args: {path: a.txt}}
    expect: allow
  - it: thinks that secrets are open
    call: {tool: read_file, args: {path: secrets/a}}
    expect: allow
    because: read_grant
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A copy of the example policy and its table."""
    return Path(shutil.copytree(ROOT / "docs" / "examples", tmp_path / "project")) / "cases"


def test_the_example_holds(stanch: Stanch, tables: Path) -> None:
    ended = stanch("policy", "test", str(tables))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("in 1 table, 0 failed\n")


def test_the_example_policy_is_clean(stanch: Stanch, tables: Path) -> None:
    policy = str(tables.parent / "stanch.toml")
    assert stanch("policy", "check", policy).code == 0
    assert stanch("policy", "lint", policy).code == 0


def test_a_failing_case_is_named_with_file_and_line(stanch: Stanch, tables: Path) -> None:
    (tables / "wrong.yaml").write_text(WRONG, "utf-8")
    ended = stanch("policy", "test", str(tables))
    assert ended.code == 1
    assert ended.out.startswith(f"thinks that secrets are open  {tables / 'wrong.yaml'}:7\n")
    assert 'wanted: read_file {"path": "secrets/a"}: allow because read_grant\n' in ended.out
    assert "got:    deny because rule 1 of default; Denied by rule 1" in ended.out
    assert "why:    Because.\n" in ended.out
    assert ended.out.endswith("in 2 tables, 1 failed\n")


def test_a_failing_case_as_json(stanch: Stanch, tables: Path) -> None:
    (tables / "wrong.yaml").write_text(WRONG, "utf-8")
    ended = stanch("policy", "test", str(tables), "--json")
    assert ended.code == 1
    said = ended.json
    assert (said["files"], said["cases"], said["failed"]) == (2, 17, 1)
    (finding,) = said["findings"]
    assert next(iter(finding)) == "it"
    assert (finding["file"], finding["line"]) == (str(tables / "wrong.yaml"), 7)
    assert finding["it"] == "thinks that secrets are open"
    assert finding["got"].startswith("deny because rule 1 of default")


def test_one_table_can_be_named(stanch: Stanch, tables: Path) -> None:
    (tables / "wrong.yaml").write_text(WRONG, "utf-8")
    assert stanch("policy", "test", str(tables / "basics.yaml")).code == 0
    assert stanch("policy", "test", str(tables / "wrong.yaml")).code == 1


def test_an_edit_of_the_policy_is_noticed(stanch: Stanch, tables: Path) -> None:
    policy = tables.parent / "stanch.toml"
    policy.write_text(policy.read_text("utf-8").replace('path = "/**/secrets"', 'path = "secrets"'), "utf-8")
    ended = stanch("policy", "test", str(tables))
    assert ended.code == 1
    assert "keeps secrets closed" in ended.out


def test_a_broken_policy_fails_the_cases_and_no_more(stanch: Stanch, tables: Path) -> None:
    (tables.parent / "stanch.toml").write_text("version = 1\nrules = []\n", "utf-8")
    ended = stanch("policy", "test", str(tables))
    assert (ended.code, ended.err) == (1, "")
    assert "the policy has a mistake at stanch.toml:2" in ended.out


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cases:\n  - it: x\n    call: {tool: a}\n    expectt: ask\n", "wrong.yaml:4: unknown key 'expectt'"),
        ("cases: [\n", "wrong.yaml:2: this is not YAML"),
        (WRONG.replace("../stanch.toml", "../gone.toml"), "wrong.yaml:4: the policy"),
        (WRONG.replace("given: {", "given: {files: {/proc/x: a}, "), "wrong.yaml:4: '/proc/x' cannot be made"),
        (
            WRONG.replace("given: {", "given: {source: corn, "),
            "wrong.yaml:2: unknown source 'corn'; did you mean 'cron'?",
        ),
        (WRONG.replace("given: {", "given: {layers: [{layer: hook}], "), "a layer of a case is one of"),
    ],
)
def test_a_table_that_cannot_be_read_is_exit_two(
    stanch: Stanch, tables: Path, text: str, words: str, as_json: list[str]
) -> None:
    (tables / "wrong.yaml").write_text(text, "utf-8")
    ended = stanch("policy", "test", str(tables), *as_json)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert ended.err.count("\n") == 1


def test_every_unreadable_table_is_named(stanch: Stanch, tables: Path) -> None:
    for name in ("wrong.yaml", "worse.yaml"):
        (tables / name).write_text("cases: []\n", "utf-8")
    ended = stanch("policy", "test", str(tables))
    assert (ended.code, ended.out) == (2, "")
    assert "wrong.yaml:1:" in ended.err
    assert "worse.yaml:1:" in ended.err


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_a_directory_without_tables_is_exit_two(stanch: Stanch, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    ended = stanch("policy", "test", str(tmp_path / name))
    assert (ended.code, ended.out) == (2, "")
    assert name in ended.err


def test_nothing_is_left_behind_and_nothing_is_touched(
    stanch: Stanch, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "tmp"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    before = {path: path.read_bytes() for path in tables.parent.rglob("*") if path.is_file()}
    assert stanch("policy", "test", str(tables)).code == 0
    assert list(work.iterdir()) == []
    assert {path: path.read_bytes() for path in tables.parent.rglob("*") if path.is_file()} == before


def test_many_cases_are_played_without_a_bar_where_nobody_looks(stanch: Stanch, tables: Path) -> None:
    rows = "".join(
        f"  - {{it: 'case {n}', call: {{tool: read_file, args: {{path: a{n}}}}}, expect: allow}}\n" for n in range(120)
    )
    (tables / "many.yaml").write_text("given: {policy: ../stanch.toml}\ncases:\n" + rows, "utf-8")
    ended = stanch("policy", "test", str(tables))
    assert (ended.code, ended.err) == (0, "")
