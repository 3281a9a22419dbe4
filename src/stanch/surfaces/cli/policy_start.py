"""`stanch policy init`: a first policy file, with the rules that Stanch starts with, each explained.

Settles the text and where it is written. Does not settle the rules (`policy.seeds`): a test holds the two together.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.question import POLICY_FILE, JsonOption
from stanch.values.fault import BadInput

TEXT = """\
# What agents may do here. A call that no rule matches is a question to a person.
#
#   stanch policy check stanch.toml      names mistakes, and shows what each path means
#   stanch policy lint stanch.toml       names rules that can never fire, and more
#   stanch check --tool read_file --args '{"path": "notes.md"}'
#                                        says what the gate answers to a call
version = 1
workspace = "."         # relative paths in rules start here; "." is the directory of this file

# A group is a list of rules: lower priority first, then from the top; the first that fits decides.
# `default` is read for every session, after the rules of the session's own group, if it has one.
[[groups]]
id = "default"
name = "Default"

# Mandatory rules are read before all others. No allow rule and no grant answers for one.
[[groups.rules]]
priority = 5
tool = "@read"          # a tool's name, a glob such as "mcp__mail__*", or @read, @write, @execute, @network
path = "/**/secrets"    # * and ? stay within one name, ** spans any number; a directory covers all below it
action = "deny"         # allow, ask or deny
mandatory = true
note = "secrets never reach a model"

[[groups.rules]]
priority = 5
tool = "@write"
path = "/**/secrets"
action = "deny"
mandatory = true
note = "secrets never reach a model"

# Files below data/ may be written without a question.
[[groups.rules]]
priority = 5
tool = "@write"
path = "data"
action = "allow"

# Talking to the person and to another agent touches nothing; what that agent does is judged by itself.
[[groups.rules]]
priority = 8
tool = "ask_user"
action = "allow"

[[groups.rules]]
priority = 8
tool = "call_agent"
action = "allow"

# Everything that runs or writes is a question.
[[groups.rules]]
priority = 10
tool = "execute_cmd"
action = "ask"

[[groups.rules]]
priority = 10
tool = "run_code"
action = "ask"

[[groups.rules]]
priority = 10
tool = "@write"
action = "ask"

# And so is all the rest.
[[groups.rules]]
priority = 9999
tool = "*"
action = "ask"

# A group of its own for scheduled jobs, and where their sessions may write without a question:
#
# [[groups]]
# id = "jobs"
# name = "Scheduled jobs"
#
# [[groups.rules]]
# tool = "@network"
# action = "deny"
#
# [sessions.defaults.source.cron]
# security_group = "jobs"
# allow_fs_writes = ["logs"]

# What a tool does that Stanch does not know. Undeclared, it counts as doing everything to every path in its call:
#
# [tools.deploy]
# category = "network"
# effects = [{ class = "network", argument = "host" }, { class = "read", argument = "bundle" }]
"""


def register(commands: typer.Typer) -> None:
    """Adds the command to the policy commands."""
    commands.command("init")(init)


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to write it; the current directory if left out.")
    ] = Path(),
    print_it: Annotated[bool, typer.Option("--print", help="Print it and write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a commented stanch.toml with the rules that Stanch starts with. An existing file is left alone."""
    if print_it:
        if as_json:
            terminal.out_json({"text": TEXT})
        else:
            terminal.out(TEXT.rstrip("\n"))
        return
    path = directory / POLICY_FILE
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(TEXT)
    except FileExistsError:
        raise BadInput(f"{path} exists already and was left as it was; remove it first, or use --print") from None
    except FileNotFoundError:
        raise BadInput(f"there is no directory {directory}; make it first") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {(error.strerror or 'unknown').lower()}") from None
    written = os.fspath(path)
    if as_json:
        terminal.out_json({"written": written})
    else:
        terminal.out(f"wrote {visible(written)}; next: stanch policy check {visible(written)}")
