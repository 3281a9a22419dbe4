"""From the blocks that stand for a call in messages and model items to a call's tool and arguments.

Settles how each way of writing a call is read: tool_use blocks, tool_calls, and the call items of the responses format.
Does not settle in which records such blocks are looked for.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stanch.surfaces.replay.lines import decoded

# The tools whose `workdir` is where their command runs.
_SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "bash"})
_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# What an item says about itself, as opposed to what the call was given.
_ABOUT = frozenset({"type", "id", "call_id", "status", "name", "internal_chat_message_metadata_passthrough"})
_PATCH_VERBS = {"create_file": "Add", "add": "Add", "delete_file": "Delete", "delete": "Delete"}


class Written(NamedTuple):
    """A call as a block writes it; `arguments` is None where they cannot be read, and `fault` says why."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | None
    fault: str = ""


def text(value: Any) -> str:
    """The value where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def in_message(message: Mapping[str, Any]) -> Iterator[Written]:
    """Every call in a message of the Anthropic, the chat completions or Stanch's own shape, in order."""
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and text(block.get("type")) in _BLOCKS:
            yield _block(block)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield _tool_call(call)
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "call":
            yield _named(text(part.get("id")), part.get("tool"), part.get("arguments"))
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield _named("", legacy.get("name"), legacy.get("arguments"))


def is_item(record: Mapping[str, Any]) -> bool:
    """True for an item of the responses format that is a call."""
    return text(record.get("type")).endswith("_call")


def of_item(item: Mapping[str, Any]) -> Written:
    """The call that an item of the responses format stands for; one of an unknown kind keeps all it was given."""
    kind = text(item.get("type"))
    identity = text(item.get("call_id")) or text(item.get("id"))
    if kind == "function_call":
        return _named(identity, _spaced(item), item.get("arguments"))
    if kind == "custom_tool_call":
        return _raw(identity, _spaced(item), item.get("input"))
    if kind == "mcp_call":
        tool = f"mcp__{text(item.get('server_label'))}__{text(item.get('name'))}"
        return _named(identity, tool, item.get("arguments"))
    if kind in ("local_shell_call", "shell_call"):
        return _shell(identity, kind.removesuffix("_call"), table(item.get("action")))
    if kind == "apply_patch_call":
        change = table(item.get("operation"))
        return Written(identity, "apply_patch", {"input": patch({text(change.get("path")): change})})
    if kind == "web_search_call":
        return Written(identity, "web_search", table(item.get("action")))
    if isinstance(item.get("arguments"), (str, dict)):
        return _named(identity, kind.removesuffix("_call"), item["arguments"])
    given = {key: value for key, value in item.items() if key not in _ABOUT}
    return Written(identity, kind.removesuffix("_call"), given)


def patch(changes: Mapping[str, Any]) -> str:
    """A patch that names every file of a set of changes, with what the changes say of their content."""
    lines = ["*** Begin Patch"]
    for path, value in changes.items():
        change = table(value)
        lines.append(f"*** {_PATCH_VERBS.get(text(change.get('type')), 'Update')} File: {path}")
        if moved := text(change.get("move_path")):
            lines.append(f"*** Move to: {moved}")
        lines.append(text(change.get("unified_diff")) or text(change.get("diff")) or text(change.get("content")))
    return "\n".join([*lines, "*** End Patch", ""])


def working_directory(tool: str, arguments: Mapping[str, Any] | None, cwd: str | None) -> str | None:
    """Where a call works: its own `workdir` where it is a shell's, read against the session's, else the session's."""
    if tool.lower() not in _SHELLS or arguments is None:
        return cwd
    own = text(arguments.get("workdir")) or text(arguments.get("working_directory"))
    if not own:
        return cwd
    return posixpath.join(cwd, own) if cwd else own


def command_line(words: Any) -> str:
    """The command that a list of words runs: the script itself where they are a shell with `-c`."""
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return text(words)
    if len(words) == 3 and words[1] in ("-c", "-lc") and posixpath.basename(words[0]) in ("bash", "sh", "zsh", "dash"):
        return str(words[2])
    return " ".join(words)


def _block(block: Mapping[str, Any]) -> Written:
    name = text(block.get("name"))
    if block.get("type") == "mcp_tool_use":
        name = f"mcp__{text(block.get('server_name'))}__{name}"
    return _named(text(block.get("id")), name, block.get("input"))


def _tool_call(call: Mapping[str, Any]) -> Written:
    identity = text(call.get("id"))
    custom = call.get("custom")
    if isinstance(custom, dict):
        return _raw(identity, text(custom.get("name")), custom.get("input"))
    function = table(call.get("function"))
    return _named(identity, function.get("name"), function.get("arguments"))


def _spaced(item: Mapping[str, Any]) -> str:
    """The tool's name with its namespace before it, so that no namespaced tool passes for a plain one."""
    name, space = text(item.get("name")), text(item.get("namespace"))
    return f"{space.rstrip('_')}__{name.lstrip('_')}" if space and name else name


def _named(identity: str, name: Any, arguments: Any) -> Written:
    tool = text(name)
    if not tool:
        return Written(identity, "", None, "it names no tool")
    if isinstance(arguments, str):
        if not arguments.strip():
            return Written(identity, tool, {})
        try:
            arguments = decoded(arguments)
        except ValueError:
            return Written(identity, tool, None, "its arguments are not JSON")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return Written(identity, tool, None, "its arguments are no object")
    return Written(identity, tool, arguments)


def _raw(identity: str, name: str, given: Any) -> Written:
    if not name:
        return Written(identity, "", None, "it names no tool")
    if not isinstance(given, str):
        return Written(identity, name, None, "its input is no text")
    return Written(identity, name, {"input": given})


def _shell(identity: str, tool: str, action: Mapping[str, Any]) -> Written:
    commands = action.get("commands")
    given = dict(action)
    given.pop("type", None)
    if isinstance(commands, list):
        given["command"] = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in commands)
    return Written(identity, tool, given)
