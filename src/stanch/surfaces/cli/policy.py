"""`stanch policy`: what can be said of a policy file without a call.

Settles how findings are printed and when they fail a script. Does not settle what is a finding (`policy.building`,
`policy.lint`, `app.linting`).
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces import finding
from stanch.surfaces.cli import policy_coverage, policy_organization, policy_start, terminal
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.linting import Checked
    from stanch.policy.document import Policy
    from stanch.values.fault import Problem

EXIT_FINDING = 1
SEEDED = "seeded"  # the place of a rule that is in no file

FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help=f"The policy file; {finding.WITHOUT} if left out.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(name="policy", help="Check, lint and start policy files.", no_args_is_help=True)
    commands.command("check")(check)
    commands.command("lint")(lint)
    policy_start.register(commands)
    policy_coverage.register(commands)
    policy_organization.register(commands)
    name = "stanch.surfaces.cli.policy_test"
    if importlib.util.find_spec(name) is not None:
        importlib.import_module(name).register(commands)
    app.add_typer(commands)


def check(
    file: FileArgument = None,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="Print the absolute form of every path, problems or not.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Name every problem in a policy file, with its line; without one, show what its paths mean.

    Exit code: 0 where there is none, 1 where there is one, 2 where the file cannot be read.
    """
    from stanch.app.linting import check_file, path_forms

    path = _named(file)
    checked = check_file(path)
    forms = path_forms(checked) if patterns or not checked.problems else ()
    if as_json:
        said: dict[str, Any] = {
            "file": checked.policy.file,
            "policy_version": checked.policy.version,
            "policy": _policy_json(path, checked.policy),
            "built_in_rules": len(built_in(checked.policy)),
            "problems": [problem_json(one) for one in checked.problems],
        }
        if (known := policy_organization.known_of(checked)) is not None:
            said["organization"] = policy_organization.status_json(known)
        if forms:
            said["workspace"] = checked.policy.workspace
            said["patterns"] = [{"place": place, "path": path, "absolute": form} for place, path, form in forms]
        terminal.out_json(said)
    else:
        _show_file(file, path)
        _show_problems(checked)
        if patterns or not checked.problems:
            terminal.out(f"workspace: {visible(checked.policy.workspace)}")
            for place, written, form in forms:
                where = "a built-in rule" if place == SEEDED else place
                terminal.out(f"{visible(where)}: {visible(written)} means {visible(' and '.join(form))}")
        if (known := policy_organization.known_of(checked)) is not None:
            terminal.out(f"organization: {policy_organization.words_of(known)}")
        if not checked.problems:
            _show_count(checked.policy)
    raise typer.Exit(EXIT_FINDING if checked.problems else 0)


def lint(file: FileArgument = None, as_json: JsonOption = False) -> None:
    """Name every problem in a policy file, and what can be said against rules that are no mistakes in themselves.

    Exit code: 0 where there is no finding, 1 where there is one, 2 where the file cannot be read.
    """
    from stanch.app.linting import check_file, lint_file

    path = _named(file)
    checked = check_file(path)
    findings = lint_file(checked)
    if as_json:
        terminal.out_json(
            {
                "file": checked.policy.file,
                "policy_version": checked.policy.version,
                "policy": _policy_json(path, checked.policy),
                "problems": [problem_json(one) for one in checked.problems],
                "findings": [
                    {
                        "kind": one.kind.value,
                        "place": one.place,
                        "group": one.group,
                        "rule": one.rule,
                        "message": one.message,
                        "others": list(one.others),
                    }
                    for one in findings
                ],
            }
        )
    else:
        _show_file(file, path)
        _show_problems(checked)
        for one in findings:
            group = "" if one.group in ("", "default") else f' [group "{visible(one.group)}"]'
            terminal.out(f"{visible(one.place)}: {visible(one.message)}{group}")
        if not checked.problems and not findings:
            terminal.out(f"{visible(checked.policy.file)}: nothing found")
    raise typer.Exit(EXIT_FINDING if checked.problems or findings else 0)


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem of a policy file as every command gives it."""
    return {
        "line": problem.line,
        "where": problem.where,
        "message": problem.message,
        "scope": problem.scope,
        "warning": problem.warning,
    }


def built_in(policy: Policy) -> tuple[int, ...]:
    """The numbers of the rules that Stanch brings along, where the file has no group `default`; else none."""
    return tuple(rule.id for group in policy.groups.values() for rule in group.rules if rule.place == SEEDED)


def _named(file: Path | None) -> Path:
    """The file that is named, else the nearest. Raises `BadInput` where there is none."""
    found = finding.nearest_policy() if file is None else file
    if found is None:
        raise BadInput(
            f"there is no {finding.POLICY_FILE} here or above; name a file, or write one with: stanch policy init"
        )
    return found


def _policy_json(path: Path, policy: Policy) -> dict[str, Any]:
    return {"file": str(path), "workspace": policy.workspace, "version": policy.version}


def _show_file(named: Path | None, path: Path) -> None:
    """Says which file is meant, where nobody named it and it lies elsewhere."""
    if named is None and path.is_absolute():
        terminal.out(f"policy: {visible(str(path))}")


def _show_count(policy: Policy) -> None:
    own = len(built_in(policy))
    rules = sum(len(group.rules) for group in policy.groups.values()) - own
    terminal.out(f"{visible(policy.file)}: no problems ({_count(rules, 'rule')}, version {policy.version})")
    if own:
        terminal.out(f'{visible(policy.file)}: no group "default": the {own} built-in rules are used')


def _show_problems(checked: Checked) -> None:
    for one in checked.problems:
        warning = "warning: " if one.warning else ""
        terminal.out(f"{visible(checked.policy.file)}:{one.line}: {warning}{visible(one.message)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
