"""Tool calls of the responses dialect, and their outputs: one kind of item for each kind of tool.

Settles which kinds are read as calls and results: those of which one is not valid without the other. A call that holds
its own result (`mcp_call`, `file_search_call`, `code_interpreter_call`) is carried as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.tiers.dialects.arguments import read_arguments, write_arguments
from stanch.tiers.dialects.checking import Json, copied, held, optional_words, rows, table, words
from stanch.tiers.dialects.contents import content_mark, joined, read_content, write_content
from stanch.tiers.dialects.hollow import TAKEN, Way, filled, hollow
from stanch.tiers.dialects.response_blocks import read_block, write_block
from stanch.values.message import Call, File, Opaque, Result, Text

# Of each kind of call: the tool's name (empty: the item says it), and where its arguments stand.
CALLS = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", ""),
    "program": ("program", "code"),
}
# Of each kind of output: where its content stands.
RESULTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "program_output": "result",
}
_STRINGS = frozenset({"local_shell_call_output", "apply_patch_call_output", "program_output"})
_FORM = "type"  # says of which form the arguments are, and is nothing that a model wrote
_MOVES = ("action", "actions")  # what a computer is told to do, one thing or several
CHUNK = "shell_output"
# A picture of one blank point: what stands in the place of a screenshot that is withheld.
BLANK = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)


def read_call(item: Json, where: str) -> Call:
    """The call that an item is. Raises `BadInput` for one that lacks what its kind must have."""
    kind = item["type"]
    tool, key = CALLS[kind]
    identity = words(held(item, "call_id", where), f"{where}.call_id")
    extra = hollow(item, ("call_id",))
    arguments: Mapping[str, Any] | str
    if not key:
        arguments = {move: item[move] for move in _MOVES if item.get(move) is not None}
        extra.update(dict.fromkeys(arguments, TAKEN))
        return Call(identity, tool, arguments, extra=extra)
    given = held(item, key, where)
    if kind == "function_call":
        arguments, extra[key] = read_arguments(words(given, f"{where}.{key}"))
    elif kind in ("custom_tool_call", "program"):
        arguments, extra[key] = words(given, f"{where}.{key}"), TAKEN
    else:
        form = table(given, f"{where}.{key}")
        arguments = {name: value for name, value in form.items() if name != _FORM}
        extra[key] = {name: value if name == _FORM else _empty(value) for name, value in form.items()}
    return Call(identity, tool or _named(item, where), arguments, extra=extra)


def _named(item: Json, where: str) -> str:
    """The tool's name with its namespace before it, so that no namespaced tool passes for a plain one."""
    name = words(held(item, "name", where), f"{where}.name")
    space = item.get("namespace")
    return f"{space.rstrip('_')}__{name.lstrip('_')}" if isinstance(space, str) and space else name


def write_call(call: Call) -> Json:
    """The item of a call; one that was read from no item gets a fresh one."""
    extra = call.extra or {"type": "function_call", "name": call.tool, "arguments": TAKEN, "call_id": TAKEN}
    _, key = CALLS.get(str(extra.get("type")), ("", ""))
    given: Any = call.arguments
    if not key:
        given = given if isinstance(given, Mapping) else {}
        moves: dict[Way, Any] = {(move,): _move(copied(given[move], move)) for move in _MOVES if move in given}
        return filled(extra, {("call_id",): call.id, **moves})
    if extra["type"] == "function_call":
        given = write_arguments(given, extra[key])
    elif isinstance(given, Mapping):
        form = extra.get(key)
        given = _formed(form if isinstance(form, Mapping) else {}, copied(given, key))
    return filled(extra, {("call_id",): call.id, (key,): given})


def _empty(value: Any) -> Any:
    """What stands for an argument that was taken out: of a table or a list, an empty one."""
    return type(value)() if isinstance(value, (dict, list)) else TAKEN


def _formed(form: Mapping[str, Any], given: Json) -> Json:
    """The arguments in the order that they had. WHY lists and tables stay: the words for one are no valid argument."""
    made = {name: given.get(name, value) for name, value in form.items()} | given
    for name, was in form.items():
        if isinstance(was, (dict, list)) and made[name] is not None and type(made[name]) is not type(was):
            made[name] = was if isinstance(was, dict) else [made[name]]
    result: Json = copied(made, "arguments")
    return result


def _move(move: Any) -> Any:
    """What a computer is told to do: a look at it, where what it was told is withheld and no move any more."""
    if isinstance(move, list):
        return [_move(one) for one in move]
    formal = [move[key] for key in (_FORM, "button") if key in move] if isinstance(move, dict) else []
    fits = all(one is None or (isinstance(one, str) and one.isidentifier()) for one in formal)
    return move if formal and fits else {_FORM: "screenshot"}


def read_result(item: Json, where: str) -> Result:
    """The result that an item is. Raises `BadInput` for one that lacks what its kind must have."""
    kind = item["type"]
    key = RESULTS[kind]
    extra = dict(item)
    identity = item.get("call_id")
    if identity is None and kind != "function_call_output":
        identity, extra["id"] = held(item, "id", where), TAKEN  # WHY: a local shell's output names its call so
    elif identity is not None:
        extra["call_id"] = TAKEN
    call_id = optional_words(identity, f"{where}.call_id") or ""
    place = f"{where}.{key}"
    given = item.get(key) if kind == "apply_patch_call_output" else held(item, key, where)
    if key in item:
        extra[key] = content_mark(given)
    content: tuple[Text | File | Opaque, ...]
    if kind == "computer_call_output":
        content, extra[key] = (read_block(table(given, place), place),), TAKEN
    elif kind == "shell_call_output":
        content = tuple(Opaque(CHUNK, table(chunk, f"{place}[{at}]")) for at, chunk in enumerate(rows(given, place)))
    elif kind in _STRINGS:
        said = optional_words(given, place)
        content = (Text(said),) if said else ()
    else:
        content = read_content(given, place, read_block)
    tool = item.get("name")
    return Result(call_id, content, tool if isinstance(tool, str) else "", extra=extra)


def write_result(result: Result) -> list[Json]:
    """The items of a result: its own, and a message with the words that it has no place for."""
    extra = result.extra or {"type": "function_call_output", "call_id": TAKEN, "output": TAKEN}
    kind = str(extra["type"])
    key = RESULTS[kind]
    name = "call_id" if "call_id" in extra or kind == "function_call_output" else "id"
    item = filled(extra, {(name,): result.call_id or extra.get(name)})
    after: list[Json] = []
    if kind == "computer_call_output":
        screens = [part for part in result.content if not isinstance(part, Text)]
        item[key] = write_block(screens[0]) if screens else {"type": "computer_screenshot", "image_url": BLANK}
        said = joined([part for part in result.content if isinstance(part, Text)], write_block)
        after = [{"role": "developer", "content": said}] if said else []
    elif kind == "shell_call_output":
        item[key] = [_write_chunk(part) for part in result.content]
    elif kind in _STRINGS:
        if result.content or key in item:
            item[key] = joined(result.content, write_block) if result.content else extra[key]
    else:
        item[key] = write_content(result.content, extra.get(key, TAKEN), write_block)
    return [item, *after]


def _write_chunk(part: Text | File | Opaque) -> Json:
    if isinstance(part, Opaque):
        chunk: Json = copied(part.data, "data")
        return chunk
    said = part.text if isinstance(part, Text) else ""
    return {"stdout": said, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
