"""`stanch policy organization`: the rules of the organization that a policy names, and how well they are known.

Settles what is shown of them, and when they are fetched for that. Does not settle what they say of a call
(`policy.organization`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces import finding
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.linting import Checked
    from stanch.app.organization import Organization, Status

EXIT_UNAVAILABLE = 1
RefreshOption = Annotated[
    bool,
    typer.Option("--refresh", help="Fetch them now. Without it, an address is shown as the data directory has it."),
]
FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help=f"The policy file; {finding.WITHOUT} if left out.", show_default=False),
]


def register(commands: typer.Typer) -> None:
    """Adds the command to the group of policy commands."""
    commands.command("organization")(organization)


def organization(
    file: FileArgument = None, data: DataOption = None, refresh: RefreshOption = False, as_json: JsonOption = False
) -> None:
    """Show the organization's rules: how well they are known, how old they are, and each of them.

    Exit code: 0 where they can be used, 1 where not, 2 where the policy names none or cannot be read.
    """
    from stanch.app.linting import check_file
    from stanch.app.settings import settings_of
    from stanch.policy.organization import Known

    path = finding.nearest_policy() if file is None else file
    if path is None:
        raise BadInput(f"there is no {finding.POLICY_FILE} here or above; name a file")
    checked = check_file(path)
    if checked.policy.organization is None:
        raise BadInput("the policy names no organization that can be used: write [organization] with a source")
    directory = settings_of(policy=path, data=data).data
    found = _prepared(checked, directory if directory.is_dir() else None)
    status = found.status()
    if refresh or _is_file(checked):
        status = found.refresh()
    if as_json:
        rules = [] if found.standing.copy is None else [dict(row) for row in found.standing.copy.rows]
        terminal.out_json({**status_json(status), "rules_in_full": rules})
    else:
        _show(found, status)
    usable = status.known in (Known.CURRENT, Known.STALE)
    raise typer.Exit(0 if usable else EXIT_UNAVAILABLE)


def known_of(checked: Checked) -> Status | None:
    """What is known of the rules of the policy's organization once they were fetched; None where it names none."""
    return None if checked.policy.organization is None else _prepared(checked, None).refresh()


def words_of(status: Status) -> str:
    """One line on how well the rules are known."""
    told = f"{visible(status.source)}: {status.words}"
    if status.age_s is None:
        return told
    rules = "1 rule" if status.rules == 1 else f"{status.rules} rules"
    return f"{told} ({rules}, {status.age_s:.0f} s old, good for {status.max_age_s:g} s)"


def status_json(status: Status) -> dict[str, Any]:
    """The same for programs."""
    return {
        "source": status.source,
        "state": status.known.value,
        "why": status.why,
        "rules": status.rules,
        "allows": list(status.allows),
        "digest": status.digest,
        "age_s": status.age_s,
        "max_age_s": status.max_age_s,
        "expires_at": None if status.until is None else datetime.fromtimestamp(status.until, UTC).isoformat(),
    }


def _show(found: Organization, status: Status) -> None:
    from stanch.policy.organization import Known

    if status.known is Known.LOADING:
        terminal.out(f"{visible(status.source)}: no copy is kept here; fetch one with --refresh")
        return
    terminal.out(words_of(status))
    from stanch.policy.organization_rules import rules_of

    rows = () if found.standing.copy is None else found.standing.copy.rows
    for rule in rules_of(rows, workspace="/", home="/"):
        note = f" [{visible(rule.note)}]" if rule.note else ""
        terminal.out(f"  {rule.id}  {visible(rule.words)}{note}")
    for number in status.allows:
        terminal.note(f"rule {number} allows, and so says nothing: an organization's rules only deny and ask")


def _prepared(checked: Checked, directory: Path | None) -> Organization:
    from stanch.app.organization_opening import prepared

    named = checked.policy.organization
    assert named is not None
    return prepared(named, checked.policy.workspace, checked.home, data=directory)


def _is_file(checked: Checked) -> bool:
    from stanch.policy.organization_source import is_address

    return checked.policy.organization is not None and not is_address(checked.policy.organization.source)
