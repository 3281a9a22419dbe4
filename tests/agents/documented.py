"""How a person is told to set an agent up: the blocks of docs/proxy.md, with the address of a server of ours."""

from __future__ import annotations

import re

from tests.agents.programs import ROOT

PAGE = ROOT / "docs" / "proxy.md"
ADDRESS = "http://127.0.0.1:8137"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    """What stands under a heading of the third level."""
    _, found, rest = PAGE.read_text("utf-8").partition(f"\n### {heading}\n")
    assert found, f"docs/proxy.md has no section {heading!r}"
    return re.split(r"^#{1,3} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def block(heading: str, language: str, url: str) -> str:
    """The first block in that language under a heading, for a server at this address."""
    found = next((text for kind, text in _BLOCK.findall(section(heading)) if kind == language), None)
    assert found is not None, f"docs/proxy.md shows no {language} under {heading!r}"
    assert ADDRESS in found
    return str(found).replace(ADDRESS, url)
