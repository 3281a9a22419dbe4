"""`stanch vault`: named secrets, set and revoked, and the key that seals them.

Settles the commands, and that a value comes from a prompt or standard input, never from an argument. Does not settle
where the vault is (`vault_door`) nor what it does (`app.vault`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getpass
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.secrets.text import Secret
from stanch.surfaces.cli import terminal, vault_forget
from stanch.surfaces.cli.audit import DatabaseOption
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.up import KeyCommandOption, KeyEnvOption, KeyFileOption
from stanch.surfaces.cli.vault_door import Told, settings_for, vault_door
from stanch.values.fault import BadInput

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and '_', such as STRIPE_KEY.")]
ExtraArgument = Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)]
NoteOption = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="A word to people. Without it: as it was.")
]
OwnerOption = Annotated[str | None, typer.Option("--owner", metavar="WHO", help="Whose secret it is.")]
UserOption = Annotated[bool, typer.Option("--user", help="A secret of its owner alone, and not of the workspace.")]
MOST_BYTES = 1 << 20


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="vault",
        help="Named secrets, which are taken out of whatever a model is sent. They are set and used, never shown. A "
        "running server is asked; where none runs, the store of the data directory is used.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_names),
        ("set", set_secret),
        ("revoke", revoke),
        ("forget", vault_forget.forget),
        ("reseal", reseal),
        ("key", key),
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def list_names(  # noqa: PLR0917 - typer calls it by name
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the names, with notes and dates."""
    with vault_door(url, token, data, database, (key_file, key_env, key_command)) as door:
        found = door.names()
    if as_json:
        terminal.out_json({"items": found, "total": len(found)})
        return
    if not found:
        terminal.note("the vault is empty; `stanch vault set NAME` puts a secret into it")
    for one in found:
        terminal.out(_line(one))


def set_secret(  # noqa: PLR0917 - typer calls it by name
    name: NameArgument,
    more: ExtraArgument = None,
    note: NoteOption = None,
    owner: OwnerOption = None,
    user: UserOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a secret, or give it another value. The value is asked for, or read from standard input.

    One line's end behind it is taken off. Whatever value it had goes on being taken out of what models are sent.
    """
    if more:
        raise BadInput(
            "a value is never taken from an argument: others see arguments in the list of processes, and your shell "
            "has written this one down; choose another value, and give it to the prompt or on standard input"
        )
    value = _value()
    with vault_door(url, token, data, database, (key_file, key_env, key_command)) as door:
        done = door.set(name, value, note=note, owner=owner, scope="user" if user else "workspace")
    for warning in done["warnings"]:
        terminal.note(str(warning))
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"{done['name']} is set")


def revoke(  # noqa: PLR0917 - typer calls it by name
    name: NameArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a secret: it is used no more, and still taken out of what models are sent."""
    with vault_door(url, token, data, database, (key_file, key_env, key_command)) as door:
        done = door.revoke(name)
    if as_json:
        terminal.out_json(done)
    else:
        terminal.out(f"{done['name']} is revoked")


def reseal(  # noqa: PLR0917 - typer calls it by name
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    database: DatabaseOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """Seal every value with the first key, so that the others are needed no more."""
    with vault_door(url, token, data, database, (key_file, key_env, key_command)) as door, _bar() as progress:
        done = door.reseal(progress)
    if as_json:
        terminal.out_json(done)
    else:
        count = done["resealed"]
        terminal.out(f"{count:,} value{'' if count == 1 else 's'} sealed anew; the key {done['key']} opens all of them")


def key(  # noqa: PLR0917 - typer calls it by name
    new: Annotated[bool, typer.Option("--new", help="Put a new key first in the key file.")] = False,
    make: Annotated[bool, typer.Option("--print", help="Print a new key for STANCH_KEY; nothing is changed.")] = False,
    data: DataOption = None,
    key_file: KeyFileOption = None,
    key_env: KeyEnvOption = None,
    key_command: KeyCommandOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say where the keys of the vault are, and which one seals; or make a new one.

    A key is named by its id, which says nothing of it. After --new, `stanch vault reseal` seals every value with the
    new key.
    """
    from stanch.host import keys

    if new and make:
        raise BadInput("give --new or --print, not both")
    if make:
        terminal.out(keys.new_key().decode("ascii").strip())
        return
    settings = settings_for(data, None, (key_file, key_env, key_command))
    where = settings.keys.words(settings.data)
    if new:
        from stanch.app.settings import make_private

        file = settings.keys.file_for(settings.data)
        if file is None:
            raise BadInput(f"the keys are in {where}: `stanch vault key --print` makes one, to be put first there")
        make_private(settings.data)
        ring = keys.put_first(file) if file.exists() else keys.from_file(file)
        terminal.note("`stanch vault reseal` seals every value with it; until then the keys behind it are needed too")
    else:
        ring = settings.keys.ring(settings.data)
    if as_json:
        terminal.out_json({"place": where, "key": ring.current})
    else:
        terminal.out(f"{visible(where)}: the key {ring.current} seals")


def _value() -> Secret:
    """The value, from a prompt without echo or from standard input. Raises `BadInput`."""
    if sys.stdin.isatty():
        try:
            text = getpass("value (not shown): ")
        except EOFError:
            text = ""
    else:
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise BadInput("what standard input holds is too long for a value")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput("what standard input holds is no text in UTF-8") from None
        text = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
    if not text:
        raise BadInput("there is no value; it is asked for, or read from standard input")
    return Secret(text)


def _line(one: dict[str, Any]) -> str:
    if "problem" in one:
        return f"{visible(one['id'])}  cannot be read: {visible(one['problem'])}"
    said = [f"changed {one['changed_at'][:10]}"]
    if one["values"] != 1:
        said.append(f"{one['values']} values")
    if one["revoked_at"] is not None:
        said.append(f"revoked {one['revoked_at'][:10]}")
    if one["owner"] is not None:
        said.append(f"{one['scope']}, {one['owner']}")
    if one["note"]:
        said.append(one["note"])
    return f"{one['name']:<30}  {visible('; '.join(said))}"


@contextmanager
def _bar() -> Iterator[Told]:
    """A progress bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, of: None  # noqa: ARG005 - nothing is shown
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("sealing", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
