"""From a tool call to a judged call: its effects found, and every target stamped once.

Settles which stamps a call gets. This is the edge where the disk is asked; everything behind it decides on values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from stanch.app.below import look_below
from stanch.paths import uri
from stanch.paths.canonical import Canonicaliser, expand_home
from stanch.policy.declared import Tool
from stanch.policy.known_tools import server_of, tool_named
from stanch.policy.tools import RawTarget, targets_of
from stanch.policy.undeclared import looks_like_path, strings_of
from stanch.values.call import CallEffect, Category, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.fault import BadCall
from stanch.values.reason import Code

_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in the busiest place there is
_WRITE = EffectClass.WRITE
_NO_EFFECT = (CallEffect(None),)
_CANNOT_NAME = frozenset({"file name too long", "not a directory", "a NUL byte", "longer than 4,096 bytes"})


Matters = Callable[[str, EffectClass], bool]


def _never(_tool: str, _cls: EffectClass) -> bool:
    return False


class Stamper:
    """Stamps calls against one set of tools and one canonicaliser."""

    def __init__(self, tools: Mapping[str, Tool], canonicaliser: Canonicaliser) -> None:
        self._tools = tools
        self._canonicaliser = canonicaliser
        self._plain = {
            name: tuple((cls, key, cls is _WRITE) for cls, key in plain)
            for name, tool in tools.items()
            if (plain := tool.plain) is not None
        }

    def judged(self, call: ToolCall, base: str, matters: Matters = _never) -> JudgedCall:
        """The call with its effects stamped, relative paths read against the canonical directory `base`.

        `matters` says of a tool and a class of effect whether it matters what lies below a directory. Raises `BadCall`
        where there is no tool's name, the arguments are no object, or a declared argument is missing or of the wrong
        type.
        """
        name, arguments, _ = call
        if not name or not isinstance(name, str):
            raise BadCall("a call needs a tool's name")
        if not isinstance(arguments, Mapping):
            raise BadCall(f"the arguments of {name} must be an object")
        tool = self._tools.get(name) or tool_named(name, self._tools)
        if tool is None:
            return self._undeclared(call, base)
        plain = self._plain.get(name)
        if plain is not None and len(plain) == 1:
            cls, key, write = plain[0]
            path = arguments.get(key)
            if type(path) is str and path and path[0] != "~":
                stamp = self._canonicaliser.stamp(path, base, write=write)
                effect = _NEW(CallEffect, (cls, key, stamp, False, "", None))
                return _NEW(JudgedCall, (call, (effect,), True, tool.builtin, tool.category, None))
        effects = self._declared(name, tool, arguments, base, matters)
        return JudgedCall(call, effects or _NO_EFFECT, True, tool.builtin, tool.category, server_of(name))

    def _declared(
        self, name: str, tool: Tool, arguments: Mapping[str, Any], base: str, matters: Matters
    ) -> tuple[CallEffect, ...]:
        raw = list(targets_of(tool, arguments))
        written = {target.path for target in raw if target.cls is _WRITE}
        stamps: dict[tuple[str, bool], list[Stamp]] = {}
        effects = []
        for target in raw:
            if target.path is None:
                effects.append(CallEffect(target.cls, target.argument, None, target.command, target.subject))
                continue
            known = (target.path, target.root)
            if known not in stamps:
                stamps[known] = self._readings(target, tool.expands_home, base, write=target.path in written)
            reaching = target.recursive and not tool.builtin
            for stamp in stamps[known]:
                effect = CallEffect(target.cls, target.argument, stamp)
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

    def _readings(self, target: RawTarget, expands: bool | None, base: str, *, write: bool) -> list[Stamp]:
        """The stamp of a target; two where it is not known whether the tool expands a leading `~`."""
        path = target.path or ""
        if target.refused:
            return [Stamp(path, refusal=Code.PATH_UNREADABLE, detail=target.refused)]
        if not path and not target.root:
            return [Stamp(path, refusal=Code.PATH_UNREADABLE, detail="an empty path")]
        if not path.startswith("~"):
            return [self._canonicaliser.stamp(path, base, write=write)]
        readings = {True: [expand_home(path)], False: [f"./{path}"], None: [expand_home(path), f"./{path}"]}[expands]
        found = [self._canonicaliser.stamp(reading, base, write=write) for reading in readings]
        return [stamp._replace(requested=path) for stamp in found]

    def _undeclared(self, call: ToolCall, base: str) -> JudgedCall:
        """All four effects on every argument that looks like a path or names something that exists."""
        stamps: dict[str, Stamp] = {}
        for text in strings_of(call.arguments):
            if looks_like_path(text) or self._exists(text, base):
                for stamp in self._undeclared_readings(text, base):
                    stamps.setdefault(stamp.path + "\0" + stamp.detail, stamp)
        targets: list[Stamp | None] = list(stamps.values()) or [None]
        effects = tuple(CallEffect(cls, "", stamp) for stamp in targets for cls in EffectClass)
        server = server_of(call.tool)
        return JudgedCall(call, effects, False, False, Category.MCP if server else None, server)

    def _undeclared_readings(self, text: str, base: str) -> list[Stamp]:
        target = RawTarget(_WRITE, "", text)
        if uri.is_file_uri(text):
            try:
                target = RawTarget(_WRITE, "", uri.path_of(text))
            except uri.BadUri as why:
                target = RawTarget(_WRITE, "", text, refused=str(why))
        found = self._readings(target, None, base, write=True)
        return [stamp for stamp in found if stamp.detail not in _CANNOT_NAME]

    def _exists(self, text: str, base: str) -> bool:
        if not text or "\0" in text or len(text) > 255:
            return False
        try:
            return os.path.lexists(f"{base}/{text}")
        except (OSError, ValueError):
            return False
