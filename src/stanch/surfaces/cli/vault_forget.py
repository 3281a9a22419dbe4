"""`stanch vault forget`: the way out for a value that was set by mistake, and for values whose key is lost.

Settles what a person is told before anything is removed, and that they confirm it. Does not settle what is removed
(`app.vault`).
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.audit import DatabaseOption
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.up import KeyCommandOption, KeyEnvOption, KeyFileOption
from stanch.surfaces.cli.vault_door import VaultDoor, vault_door
from stanch.values.fault import BadInput

MOST_SHOWN = 20
WHAT_IT_MEANS = "looked for no more: where it stands in a conversation or a file, models are sent it as it is"
NameArgument = Annotated[str | None, typer.Argument(metavar="NAME", help="A secret that was revoked.")]
UnreadableOption = Annotated[
    bool, typer.Option("--unreadable", help="Forget every value that cannot be opened, such as those of a lost key.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask: this is what is wanted.")]


def forget(  # noqa: PLR0917 - typer calls it by name
    name: NameArgument = None,
    unreadable: UnreadableOption = False,
    yes: YesOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a revoked secret with every value that it had, or all values that cannot be opened.

    They are looked for no more. For a value that was set by mistake, such as a common word, and for a lost key, without
    which nothing is sent to any model.
    """
    if (name is None) != unreadable:
        raise BadInput("give a NAME or --unreadable, one of the two")
    with vault_door(url, token, data, database, (key_file, key_env, key_command)) as door:
        if name is not None:
            _one(door, name, yes=yes, as_json=as_json)
        else:
            _unreadable(door, yes=yes, as_json=as_json)


def _one(door: VaultDoor, name: str, *, yes: bool, as_json: bool) -> None:
    found = next((one for one in door.names() if one.get("name") == name), None)
    if found is None:
        raise BadInput("there is no secret of that name")
    if found["revoked_at"] is None:
        raise BadInput("the secret is in use; `stanch vault revoke` it before its values are forgotten")
    terminal.note(f"{name} has {_count(found['values'])}; what is forgotten is {WHAT_IT_MEANS}")
    _confirm(name, yes=yes)
    done = door.forget(name)
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"{name} is forgotten, with {_count(done['forgotten'])}")


def _unreadable(door: VaultDoor, *, yes: bool, as_json: bool) -> None:
    found = door.unreadable()
    if not found:
        if as_json:
            terminal.out_json({"items": []})
        else:
            terminal.out("every value can be opened; nothing is forgotten")
        return
    for one in found[:MOST_SHOWN]:
        terminal.note(f"{visible(str(one['id']))} of {one['table']}: {visible(str(one['problem']))}")
    if len(found) > MOST_SHOWN:
        terminal.note(f"and {len(found) - MOST_SHOWN:,} more")
    terminal.note(
        "if their key can be had again, stop here and give it: then nothing is lost. What is forgotten is "
        f"{WHAT_IT_MEANS}; set each secret again that matters"
    )
    _confirm(str(len(found)), yes=yes, what="how many rows that are")
    done = door.forget_unreadable(len(found))
    if as_json:
        terminal.out_json({"items": done})
    else:
        terminal.out(f"{len(done):,} row{'' if len(done) == 1 else 's'} forgotten")


def _confirm(word: str, *, yes: bool, what: str = "the name") -> None:
    """Returns where the person types the word. Raises `BadInput` where not, or where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput("nothing is forgotten: say --yes where nobody can be asked")
    try:
        typed = input(f"type {what} once more to forget it ({word}): ")
    except EOFError:
        typed = ""
    if typed.strip() != word:
        raise BadInput("nothing is forgotten")


def _count(number: int) -> str:
    return f"{number:,} value{'' if number == 1 else 's'}"
