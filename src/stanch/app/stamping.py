"""From a tool call to a judged call: its effects found, and every target stamped once.

Settles which stamps a call gets. This is the edge where the disk is asked; everything behind it decides on values.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from itertools import islice
from typing import Any

from stanch.app.below import look_below
from stanch.app.command_stamping import CommandStamper, Matters
from stanch.app.shell_world import Wrote
from stanch.paths import uri
from stanch.paths.canonical import Canonicaliser, expand_home
from stanch.paths.resolving import MAX_PATH_BYTES
from stanch.policy.declared import Tool
from stanch.policy.forms import RawTarget
from stanch.policy.known_tools import server_of, tool_named
from stanch.policy.tools import targets_of
from stanch.policy.undeclared import looks_like_path, strings_of
from stanch.values.call import LIVE, CallEffect, Category, EffectClass, JudgedCall, Manner, Stamp, ToolCall
from stanch.values.fault import BadCall
from stanch.values.reason import Code

_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in the busiest place there is
_EXECUTE, _WRITE = EffectClass.EXECUTE, EffectClass.WRITE
_NO_EFFECT = (CallEffect(None),)
LONGEST_TOOL_NAME = 256
MOST_TARGETS = 1_000
MOST_STRINGS = 20_000
MOST_LETTERS = 256 * 1024
_CANNOT_NAME = frozenset({"file name too long", "not a directory", "a NUL byte", "longer than 4,096 bytes"})


def _never(_tool: str, _cls: EffectClass) -> bool:
    return False


class Stamper:
    """Stamps calls against one set of tools and one canonicaliser."""

    def __init__(self, tools: Mapping[str, Tool], canonicaliser: Canonicaliser, root: str = "/") -> None:
        """`root` is the canonical path of the workspace, below which stored items lie for rules and tiers."""
        self._root = root
        self._tools = tools
        self._canonicaliser = canonicaliser
        self._commands = CommandStamper(canonicaliser)
        self._plain = {
            name: (*plain, plain[0] is _WRITE, tool, server_of(name))
            for name, tool in tools.items()
            if (plain := tool.plain) is not None and plain[0] is not _EXECUTE
        }

    def judged(self, call: ToolCall, base: str, matters: Matters = _never, wrote: Wrote | None = None) -> JudgedCall:
        """The call with its effects stamped, relative paths read against the canonical directory `base`.

        `matters` says of a tool and a class of effect whether it matters what lies below a directory, `wrote` of a path
        whether the session wrote the file. Raises `BadCall` where there is no tool's name, the arguments are no object,
        or a declared argument is missing or of the wrong type.
        """
        name, arguments, _ = call
        if not name or not isinstance(name, str):
            raise BadCall("a call needs a tool's name")
        if not isinstance(arguments, Mapping):
            raise BadCall(f"the arguments of {name} must be an object")
        if len(name) > LONGEST_TOOL_NAME:
            raise BadCall(f"a tool's name of more than {LONGEST_TOOL_NAME} characters")
        plain = self._plain.get(name)
        if plain is not None:
            cls, key, others, write, tool, server = plain
            path = arguments.get(key)
            alone = not (others and any(other in arguments for other in others))
            if type(path) is str and path and path[0] != "~" and (tool.builtin or ".." not in path) and alone:
                stamp = self._canonicaliser.stamp(path, base, write=write)
                effect = _NEW(CallEffect, (cls, key, stamp, None, "", None, None, False, ()))
                return _NEW(JudgedCall, (call, (effect,), True, tool.builtin, tool.category, server, LIVE))
        found = tool_named(name, self._tools)
        if found is None:
            return self._undeclared(call, base)
        effects = self._declared(name, found, arguments, base, matters, wrote=wrote)
        return JudgedCall(call, effects or _NO_EFFECT, True, found.builtin, found.category, server_of(name))

    def probed(self, call: ToolCall, builtin: str, path: str, base: str, manner: Manner) -> JudgedCall:
        """The call, as one that touches what the built-in file tool of this name would touch at this path.

        Raises `BadCall` as `judged` does.
        """
        plain = self._plain.get(builtin)
        if plain is None or not path or path[0] == "~":
            stamped = self.judged(ToolCall(builtin, {"path": path}, call.id), base)
            return stamped._replace(call=call, manner=manner)
        cls, key, _, write, tool, server = plain
        stamp = self._canonicaliser.stamp(path, base, write=write)
        effect = _NEW(CallEffect, (cls, key, stamp, None, "", None, None, False, ()))
        return _NEW(JudgedCall, (call, (effect,), True, tool.builtin, tool.category, server, manner))

    def _declared(
        self, name: str, tool: Tool, arguments: Mapping[str, Any], base: str, matters: Matters, *, wrote: Wrote | None
    ) -> tuple[CallEffect, ...]:
        raw = list(islice(targets_of(tool, arguments), MOST_TARGETS + 1))
        if len(raw) > MOST_TARGETS:
            raise BadCall(f"a call that names more than {MOST_TARGETS:,} targets")
        written = {target.path for target in raw if target.cls is _WRITE}
        stamps: dict[tuple[str, bool, bool], list[Stamp]] = {}
        effects: list[CallEffect] = []
        runs = any(target.cls is _EXECUTE and target.code is None for target in raw)
        places = (self._canonicaliser.stamp(base, "/"),) if runs else ()
        for target in raw:
            if target.code is not None:
                effects.extend(self._commands.effects(target, base, matters, wrote))
                continue
            if target.path is None:
                effect = CallEffect(target.cls, target.argument, None, None, target.subject)
                effects.append(effect._replace(places=places) if target.cls is _EXECUTE else effect)
                continue
            known = (target.path, target.root, target.item)
            if known not in stamps:
                stamps[known] = self._readings(target, tool, base, write=target.path in written)
            reaching = target.recursive and not tool.builtin
            for stamp in stamps[known]:
                effect = CallEffect(target.cls, target.argument, stamp)
                if target.cls is _EXECUTE:
                    effect = effect._replace(places=places)
                effects.append(self._reaching(name, target, effect, matters) if reaching else effect)
        return tuple(effects)

    def _reaching(self, name: str, target: RawTarget, effect: CallEffect, matters: Matters) -> CallEffect:
        """The effect with what lies below its target, where that matters; refused where it would move Stanch's own."""
        stamp = effect.stamp
        if stamp is None or stamp.refusal is not None:
            return effect
        writes = target.cls is _WRITE
        if writes and self._canonicaliser.protected.lies_below(stamp.path):
            return effect._replace(stamp=stamp._replace(refusal=Code.PATH_PROTECTED))
        if not matters(name, target.cls):
            return effect
        return effect._replace(below=look_below(stamp.path, only=target.only, folders=writes))

    def _readings(self, target: RawTarget, tool: Tool | None, base: str, *, write: bool) -> list[Stamp]:
        """The stamp of a target, and a second one where it is not known how the tool reads the path.

        That is a leading `~`, which some expand and some do not, and a `..` behind a link, which the kernel takes from
        where the link leads and many programs from where it stands.
        """
        path = target.path or ""
        if target.refused:
            return [Stamp(path, refusal=Code.PATH_UNREADABLE, detail=target.refused)]
        if target.item:
            return [self._item(path)]
        if not path and not target.root:
            return [Stamp(path, refusal=Code.PATH_UNREADABLE, detail="an empty path")]
        readings = [path]
        if path.startswith("~"):
            expands = tool.expands_home if tool is not None else None
            readings = {True: [expand_home(path)], False: [f"./{path}"], None: [expand_home(path), f"./{path}"]}[
                expands
            ]
        if ".." in path and (tool is None or not tool.builtin):
            readings += [os.path.normpath(os.path.join(base, reading)) for reading in readings]
        stamps: dict[str, Stamp] = {}
        for reading in readings:
            stamp = self._canonicaliser.stamp(reading, base, write=write)
            stamps.setdefault(stamp.path + "\0" + stamp.detail, stamp._replace(requested=path))
        return list(stamps.values())

    def _item(self, path: str) -> Stamp:
        """The stamp of a stored item: where its name says, below the workspace. The disk has no say in it."""
        place = os.path.join(self._root, path) if path else self._root
        return Stamp(path, place, unicodedata.normalize("NFC", place))

    def _undeclared(self, call: ToolCall, base: str) -> JudgedCall:
        """All four effects on every argument that looks like a path or names something that exists.

        What is no name of anything that is there is shown by its argument's name: it may be any text.
        """
        stamps: dict[str, tuple[Stamp, str]] = {}
        seen = length = 0
        for key, value in call.arguments.items():
            for text in strings_of(value):
                seen += 1
                if seen > MOST_STRINGS or len(stamps) > MOST_TARGETS or length > MOST_LETTERS:
                    raise BadCall("a call of an undeclared tool with more texts that may be paths than are looked at")
                if looks_like_path(text) or self._exists(text, base):
                    length += min(len(text), MAX_PATH_BYTES)
                    for stamp in self._undeclared_readings(text, base):
                        shown = "" if os.path.lexists(stamp.path) else f"the argument '{_short(key)}' of {call.tool}"
                        stamps.setdefault(stamp.path + "\0" + stamp.detail, (stamp, shown))
        targets: list[tuple[Stamp | None, str]] = list(stamps.values()) or [(None, "")]
        places = (self._canonicaliser.stamp(base, "/"),)
        effects = tuple(
            CallEffect(cls, "", stamp, None, shown, places=places if cls is _EXECUTE else ())
            for stamp, shown in targets
            for cls in EffectClass
        )
        server = server_of(call.tool)
        return JudgedCall(call, effects, False, False, Category.MCP if server else None, server)

    def _undeclared_readings(self, text: str, base: str) -> list[Stamp]:
        """The stamps of a text as a path: as the kernel reads it, and as a program may tidy it up first."""
        target = RawTarget(_WRITE, "", text)
        if uri.is_file_uri(text):
            try:
                target = RawTarget(_WRITE, "", uri.path_of(text))
            except uri.BadUri as why:
                target = RawTarget(_WRITE, "", text, refused=str(why))
        found = self._readings(target, None, base, write=True)
        plain = os.path.normpath(text.partition("\0")[0])
        if plain != text and not uri.is_file_uri(text):
            found += self._readings(RawTarget(_WRITE, "", plain), None, base, write=True)
        return [stamp for stamp in found if stamp.detail not in _CANNOT_NAME]

    def _exists(self, text: str, base: str) -> bool:
        if not text or "\0" in text or len(text) > 255:
            return False
        try:
            return os.path.lexists(f"{base}/{text}")
        except (OSError, ValueError):
            return False


def _short(key: object) -> str:
    text = str(key)
    return text if len(text) <= 64 else text[:64] + "…"
