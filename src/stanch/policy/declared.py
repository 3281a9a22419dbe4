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
    GLOB = "glob"  # a glob whose literal head is the place that is searched
    PATCH = "patch"  # a patch whose headers name paths
    URI = "uri"  # a URI; `file:` is a path
    URL = "url"  # an address on a network; a `file:` URL is a read
    COMMAND = "command"  # a shell command


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
    """A tool that somebody has described. `expands_home`: None where it is not known whether it expands `~` itself."""

    name: str
    effects: tuple[DeclaredEffect, ...]
    category: Category | None = None
    builtin: bool = False
    expands_home: bool | None = None

    @property
    def plain(self) -> tuple[tuple[EffectClass, str], ...] | None:
        """(class, key) for each effect where every target is one plain argument that must be a path; else None."""
        simple = all(e.form is Form.PATH and e.argument.isidentifier() and not e.optional for e in self.effects)
        return tuple((e.cls, e.argument) for e in self.effects) if simple and self.effects else None
