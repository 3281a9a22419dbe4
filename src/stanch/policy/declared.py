"""How somebody describes a tool: its effects, and which argument names the target of each.

Settles the records. Does not settle how one is held against a call (`policy.tools`), nor which tools are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stanch.values.call import Category, EffectClass


class Form(StrEnum):
    """How an argument names its target."""

    PATH = "path"  # a path, or a list of paths
    ITEM = "item"  # a path of a stored item, which lies below the workspace as its name says, whatever the disk holds
    GLOB = "glob"  # a glob whose literal head is the place that is searched
    PATCH = "patch"  # a patch in any format, whose headers name paths
    ENVELOPE = "envelope"  # a patch in the format of coding agents: `*** Begin Patch`
    REVISION = "revision"  # a revision of git; `REV:path` names a path
    URI = "uri"  # a URI; `file:` is a path
    URL = "url"  # an address on a network; a `file:` URL is a read
    COMMAND = "command"  # a shell command
    CODE = "code"  # code in some other language, or typed into a program that runs already


@dataclass(frozen=True, slots=True)
class DeclaredEffect:
    """One effect of a tool.

    `argument` is a key, a dotted way to one with `[]` for each item of a list, or several of these with `|` between.
    `recursive`: all that lies below a directory is touched too, of a search only files whose names fit the glob in the
    argument `only`. `optional`: where the argument is missing or empty, the target is the working directory.
    """

    cls: EffectClass
    argument: str = ""
    form: Form = Form.PATH
    optional: bool = False
    within: str = ""
    recursive: bool = False
    only: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that somebody has described.

    `expands_home`: None where it is not known whether it expands `~` itself. `others` are the arguments that name no
    target: of a tool whose target may be left out, any further argument that looks like a path is taken for one.
    """

    name: str
    effects: tuple[DeclaredEffect, ...]
    category: Category | None = None
    builtin: bool = False
    expands_home: bool | None = None
    others: frozenset[str] = frozenset()

    @property
    def plain(self) -> tuple[EffectClass, str, tuple[str, ...]] | None:
        """The class, the argument and its other names, where the one effect has one plain path for its target."""
        if len(self.effects) != 1:
            return None
        effect = self.effects[0]
        names = effect.argument.split("|")
        simple = effect.form is Form.PATH and not effect.optional and not effect.recursive
        return (effect.cls, names[0], tuple(names[1:])) if simple and all(n.isidentifier() for n in names) else None

    @property
    def arguments(self) -> frozenset[str]:
        """The top-level arguments that the declaration speaks of."""
        named = {way.split(".")[0].removesuffix("[]") for e in self.effects for way in e.argument.split("|")}
        filters = {name for e in self.effects for name in (*e.only.split("|"), e.within)}
        return self.others | named | filters
