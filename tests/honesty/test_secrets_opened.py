"""Who may open a secret? Only the modules on this list import what opens one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

MAY_OPEN = {
    "stanch.app.tools": "gives those that its caller named to a command",
    "stanch.app.vault": "takes them in",
    "stanch.provenance.envelope": "seals those that an item holds",
    "stanch.surfaces.cli.vault_door": "sends the one that a person has just typed",
    "stanch.secrets.known": "makes the forms that are looked for",
    "stanch.secrets.sealing": "seals them",
    "stanch.secrets.telling": "tells one from another",
}


WAYS = {
    ("stanch.secrets.text", "opened"),
    ("stanch.secrets.text", "*"),
    ("stanch.secrets", "text"),
    ("stanch.secrets", "*"),
}


def opens(path: Path) -> bool:
    """True where a module imports `opened`, or the module that holds it, or reaches into a secret."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)):
                if any((module, one.name) in WAYS for one in node.names):
                    return True
            case ast.Import() if any(one.name == "stanch.secrets.text" for one in node.names):
                return True
            case ast.Attribute(attr="_reveal") if path.name != "text.py":
                return True
    return False


def test_only_those_on_the_list_open_a_secret(modules: Mapping[str, Path]) -> None:
    found = {name for name, path in modules.items() if name.startswith("stanch.") and opens(path)}
    assert found == set(MAY_OPEN), "whoever opens a secret is on the list, and everybody on it does"
