"""`stanch policy init`: a first policy file, for people who run coding agents, with every rule explained.

Settles the text and where it is written, and which presets there are: other texts, in `presets`. Does not settle the
built-in rules (`policy.seeds`), which hold where there is no file: what they deny or allow, the text denies or allows
too, and a test holds the two together.
"""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.finding import POLICY_FILE
from stanch.values.fault import BadInput

TEXT = """\
# What agents may do here. A call that no rule matches is a question to a person.
#
#   stanch policy check      names every mistake, and shows what each path means
#   stanch policy lint       names rules that can never fire, and more
#   stanch check --tool Write --args '{"file_path": "notes.md"}'
#                            says what the gate answers to a call; stanch explain says why
#   stanch replay ~/.claude/projects ~/.codex/sessions
#                            says what it would have answered to your own past sessions
version = 1
workspace = "."    # relative paths in rules start here; "." is the directory of this file

# A group is a list of rules. `default` is read for every session, after the rules of the session's own group, if it has
# one. A rule names
#
#   tool     a tool's name, a glob such as "mcp__github__*", or whatever @read, @write, @execute or @network does
#   path     where: * and ? stay within one name, ** spans any number of them, a directory covers all below it
#   action   allow, ask or deny
#
# and the first that fits decides: mandatory rules come first, then lower `priority` (100 where none is written), then
# from the top. Reading in the workspace needs no rule: where one asks, that is granted, and only a deny or a mandatory
# ask stands against it.
[[groups]]
id = "default"
name = "Default"
rules = [
  # --- Mandatory: no other rule and no grant answers for these --------------------------------------------------------

  # @read is every way to read: Read, Grep, apply_patch, an MCP server, or a tool that nobody has described.
  { tool = "@read", path = "/**/secrets", action = "deny", mandatory = true, note = "secrets never reach a model" },
  { tool = "@write", path = "/**/secrets", action = "deny", mandatory = true, note = "secrets never reach a model" },

  # Keys. Take out *.pem if certificates are what you work on.
  { tool = "@read", path = "/**/*.pem", action = "deny", mandatory = true, note = "may be a private key" },
  { tool = "@read", path = "/**/id_rsa*", action = "deny", mandatory = true, note = "a private key" },
  { tool = "@read", path = "/**/id_ecdsa*", action = "deny", mandatory = true, note = "a private key" },
  { tool = "@read", path = "/**/id_ed25519*", action = "deny", mandatory = true, note = "a private key" },
  { tool = "@read", path = "~/.aws", action = "deny", mandatory = true, note = "credentials" },
  { tool = "@read", path = "~/.ssh", action = "deny", mandatory = true, note = "keys" },

  # A question each time, since .env.example is harmless and .env mostly is not.
  { tool = "@read", path = "/**/.env*", action = "ask", mandatory = true, note = "may hold secrets" },

  # --- What needs no question -----------------------------------------------------------------------------------------

  # Files below data/ may be written. Add what your agent may change: src, tests, docs.
  { tool = "@write", path = "data", action = "allow" },

  # Tools that touch nothing: they plan, ask a person, look at what runs already, or hand work to another agent, whose
  # calls are judged one by one. Each is named, since a glob would also fit tools that come later.
  { tool = "Agent", action = "allow" },                # Claude Code
  { tool = "AskUserQuestion", action = "allow" },
  { tool = "BashOutput", action = "allow" },
  { tool = "EnterPlanMode", action = "allow" },
  { tool = "ExitPlanMode", action = "allow" },
  { tool = "KillShell", action = "allow" },
  { tool = "SendMessage", action = "allow" },
  { tool = "Skill", action = "allow" },
  { tool = "SlashCommand", action = "allow" },
  { tool = "Task", action = "allow" },
  { tool = "TaskCreate", action = "allow" },
  { tool = "TaskGet", action = "allow" },
  { tool = "TaskList", action = "allow" },
  { tool = "TaskOutput", action = "allow" },
  { tool = "TaskStop", action = "allow" },
  { tool = "TaskUpdate", action = "allow" },
  { tool = "TodoRead", action = "allow" },
  { tool = "TodoWrite", action = "allow" },
  { tool = "ToolSearch", action = "allow" },
  { tool = "close_agent", action = "allow" },          # Codex
  { tool = "list_agents", action = "allow" },
  { tool = "request_user_input", action = "allow" },
  { tool = "send_input", action = "allow" },
  { tool = "spawn_agent", action = "allow" },
  { tool = "update_plan", action = "allow" },
  { tool = "wait", action = "allow" },
  { tool = "wait_agent", action = "allow" },
  { tool = "ask_user", action = "allow" },             # Stanch's own
  { tool = "call_agent", action = "allow" },

  # What Stanch itself stores, read: whatever these give to a model is looked through item by item.
  { tool = "files_list", action = "allow" },
  { tool = "files_read", action = "allow" },
  { tool = "files_grep", action = "allow" },
  { tool = "files_search", action = "allow" },
  { tool = "files_versions", action = "allow" },
  { tool = "files_get", action = "allow" },
  { tool = "files_archive", action = "allow" },
  { tool = "files_links", action = "allow" },
  { tool = "files_compile", action = "allow" },
  { tool = "files_show", action = "allow" },
  { tool = "knowledge_list", action = "allow" },
  { tool = "knowledge_search", action = "allow" },
  { tool = "knowledge_read", action = "allow" },
  { tool = "knowledge_chunks", action = "allow" },
  { tool = "knowledge_tags", action = "allow" },
  { tool = "knowledge_export", action = "allow" },
  { tool = "tables_list", action = "allow" },
  { tool = "tables_read", action = "allow" },
  { tool = "tables_rows", action = "allow" },
  { tool = "tables_row", action = "allow" },
  { tool = "tables_query", action = "allow" },
  { tool = "tables_search", action = "allow" },
  { tool = "tables_selection", action = "allow" },
  { tool = "runs_list", action = "allow" },
  { tool = "runs_read", action = "allow" },
  { tool = "runs_files", action = "allow" },
  { tool = "runs_get", action = "allow" },

  # --- What is a question ---------------------------------------------------------------------------------------------

  { tool = "@execute", action = "ask" },   # above it: { tool = "@execute", command = "git log *", action = "allow" }
  { tool = "@write", action = "ask" },

  # And so is all the rest. Put rules of your own above this one.
  { tool = "*", action = "ask", priority = 9999 },
]

# --- More, to copy from -----------------------------------------------------------------------------------------------

# A group of its own for scheduled jobs, and where their sessions may write without a question. A rule may stand in a
# table of its own as well; a group has its rules in one form or the other.
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


def presets() -> list[str]:
    """The names of the policies that come with Stanch."""
    names = (file.name for file in (resources.files("stanch") / "presets").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def preset(name: str) -> str:
    """The text of a policy that comes with Stanch. Raises `BadInput` for a name that none has."""
    if name not in presets():
        raise BadInput(f"there is no preset {visible(name)}; there is: {', '.join(presets())}")
    return (resources.files("stanch") / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def register(commands: typer.Typer) -> None:
    """Adds the command to the policy commands."""
    commands.command("init")(init)


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write it; the current directory if left out.")
    ] = Path(),
    preset_name: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="Another one: dev, for everyday work in a repository."),
    ] = None,
    print_it: Annotated[bool, typer.Option("--print", help="Print it and write nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a commented stanch.toml to start from. An existing file is left alone."""
    text = TEXT if preset_name is None else preset(preset_name)
    if print_it:
        if as_json:
            terminal.out_json({"text": text})
        else:
            terminal.out(text.rstrip("\n"))
        return
    path = directory / POLICY_FILE
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
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
        check = "stanch policy check" if path == Path(POLICY_FILE) else f"stanch policy check {visible(written)}"
        terminal.out(f"wrote {visible(written)}; next: {check}")
