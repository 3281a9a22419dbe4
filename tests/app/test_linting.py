"""Are files found that a deny covers under one name and perhaps not under another?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stanch.app.linting import check_file, linked_files, lint_file
from stanch.policy.lint import Finding, FindingKind


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A workspace with a secret that has two names, and one that has a single one."""
    root = tmp_path.resolve() / "project"
    (root / "secrets" / "deep").mkdir(parents=True)
    (root / "open").mkdir()
    (root / "secrets" / "one").write_text("1", "utf-8")
    (root / "secrets" / "deep" / "two").write_text("2", "utf-8")
    os.link(root / "secrets" / "deep" / "two", root / "open" / "two")
    os.symlink(root / "secrets" / "one", root / "open" / "link")
    return root


def write(root: Path, *rules: str) -> Path:
    rows = "".join(f'[[groups.rules]]\ntool = "read_file"\n{one}\n' for one in rules)
    file = root / "stanch.toml"
    file.write_text(f'version = 1\n[[groups]]\nid = "default"\n{rows}', "utf-8")
    return file


def found(file: Path, most: int = 1000) -> list[Finding]:
    return list(linked_files(check_file(file).policy, most=most))


@pytest.mark.parametrize("path", ["secrets", "/**/secrets", "**/t*", "secrets/deep/two", "secrets/*", "**"])
def test_a_denied_file_with_two_names_is_found(project: Path, path: str) -> None:
    file = write(project, f'path = "{path}"\naction = "deny"')
    (one,) = found(file)
    assert (one.kind, one.place, one.rule) == (FindingKind.FILE_HAS_LINKS, "stanch.toml:4", 1)
    assert f"{project}/secrets/deep/two (2 names)" in one.message
    assert "secrets/one" not in one.message


@pytest.mark.parametrize(
    "rule",
    [
        'path = "secrets"\naction = "ask"',
        'path = "secrets/one"\naction = "deny"',
        'path = "nowhere"\naction = "deny"',
        'path = "secrets"\nagent = "x"\naction = "deny"',
        'action = "deny"',
    ],
)
def test_other_files_and_other_rules_are_not(project: Path, rule: str) -> None:
    assert found(write(project, rule)) == []


def test_a_literal_place_outside_the_workspace_is_looked_at(project: Path, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    os.link(project / "secrets" / "one", outside / "one")
    (one,) = found(write(project, f'path = "{outside}"\naction = "deny"'))
    assert f"{outside}/one (2 names)" in one.message


def test_links_are_not_followed(project: Path) -> None:
    os.symlink(project / "secrets", project / "loop")
    os.symlink(project, project / "secrets" / "up")
    assert len(found(write(project, 'path = "/**/secrets"\naction = "deny"'))) == 1


def test_a_search_that_is_cut_off_says_so(project: Path) -> None:
    file = write(project, 'path = "/**/secrets"\naction = "deny"')
    (one,) = found(file, most=2)
    assert one.kind is FindingKind.CUT_OFF
    assert one.message == "only the first 2 files and directories were looked at; more files may have further names"


def test_many_files_are_counted(project: Path) -> None:
    for number in range(14):
        path = project / "secrets" / f"n{number:02}"
        path.touch()
        os.link(path, project / "open" / path.name)
    (one,) = found(write(project, 'path = "secrets"\naction = "deny"'))
    assert one.message.count("(2 names)") == 10
    assert " and 5 more; " in one.message


def test_a_workspace_that_cannot_be_used_is_a_problem_with_a_line(project: Path) -> None:
    file = project / "stanch.toml"
    os.symlink("round", project / "round")
    file.write_text('version = 1\n\nworkspace = "round"\n', "utf-8")
    checked = check_file(file)
    (problem,) = checked.problems
    assert (problem.line, problem.where) == (3, "workspace")
    assert "the workspace 'round' cannot be read" in problem.message
    assert lint_file(checked) == []


def test_a_program_that_is_not_there_is_found(project: Path) -> None:
    (project / "there").write_text("#!/bin/sh\n", "utf-8")
    (project / "there").chmod(0o755)
    (project / "no-program").write_text("", "utf-8")
    commands = ['["./there"]', '["./no-program"]', '["sh", "-c", "x"]', '["no-such-program-anywhere"]', '["gone/x"]']
    hooks = "".join(f"[[hooks]]\ncommand = {one}\n" for one in commands)
    file = project / "stanch.toml"
    file.write_text(f'version = 1\n{hooks}[caller_policy]\ncommand = ["/no/where"]\n', "utf-8")
    findings = [one for one in lint_file(check_file(file)) if one.kind is FindingKind.NO_PROGRAM]
    assert [one.place for one in findings] == ["caller_policy", "hook 2", "hook 4", "hook 5"]
    assert '"gone/x" is not there to be started' in findings[-1].message
