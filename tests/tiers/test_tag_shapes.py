"""The table of how results look: what ships, what a user adds, and what is wrong with one that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from stanch.policy.known_tools import known
from stanch.tiers.tag_shapes import Look, shapes_of
from stanch.tiers.tags import tag_messages
from stanch.values.fault import BadInput
from stanch.values.message import SourceTag
from tests.tiers.tagging import called, canonical, gave, shapes, tags_of


def test_every_tool_that_ships_is_known() -> None:
    assert set(shapes().tools) <= set(known())


def test_every_tool_that_searches_has_a_shape() -> None:
    searching = {name for name, tool in known().items() if any(one.recursive or one.optional for one in tool.effects)}
    ours = ("mcp__", "files_", "tables_")  # an item of these tells itself where it is from
    named = {name for name in searching if not name.startswith(ours) and name not in ("write_stdin", "run_code")}
    assert named <= set(shapes().tools) | {"LS", "list_files"}


def test_a_users_table_goes_over_the_one_that_ships() -> None:
    own: dict[str, Any] = {
        "tools": {
            "Grep": {"shape": "whole"},
            "find_text": {"shape": "headed", "heading": r"(?P<path>(?!\d+[:-]).+)", "line": r"\d+[:-]"},
        },
        "summaries": {"begins": ["SUMMARY"]},
    }
    both = shapes_of(
        {"tools": {"Grep": {"shape": "names"}, "LS": {"shape": "names"}}, "summaries": {"begins": ["x"]}}, own
    )
    assert {name: shape.look for name, shape in both.tools.items()} == {
        "Grep": Look.WHOLE,
        "LS": Look.NAMES,
        "find_text": Look.HEADED,
    }
    assert both.summaries == ("x", "SUMMARY")
    messages = [called("grep", {"path": "/repo"}), gave("secrets/k\n3:KEY\n4-a\n\npublic/a\n1:hi")]
    both_named = shapes_of({"tools": {"grep": own["tools"]["find_text"]}})
    tags = tags_of(tag_messages(messages, shapes=both_named, cwd="/repo", canonical=canonical)[1])
    assert tags == (SourceTag("/repo/secrets/k", span=(0, 19)), SourceTag("/repo/public/a", span=(21, 34)))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"tools": []}, "tools must be a table"),
        ({"tools": {"X": 3}}, "tools.X must be a table"),
        ({"tools": {"X": {"shape": "round"}}}, "tools.X.shape must be one of whole, nothing"),
        ({"tools": {"X": {"shape": "whole", "colour": 1}}}, "tools.X.colour is unknown (known: shape,"),
        ({"tools": {"X": {"shape": "headed"}}}, "tools.X needs 'heading' and 'line'"),
        ({"tools": {"X": {"shape": "tree"}}}, "tools.X needs 'line'"),
        ({"tools": {"X": {"shape": "names", "line": "(.+)"}}}, "tools.X: the expression needs a group called 'path'"),
        ({"tools": {"X": {"shape": "names", "line": "("}}}, "tools.X.line must hold expressions that can be read"),
        ({"tools": {"X": {"shape": "names", "notes": "x"}}}, "tools.X.notes must be a list of strings"),
        ({"tools": {"X": {"shape": "lines", "numbered": 3}}}, "tools.X.numbered must be true, false or the name"),
        ({"tools": {"X": {"shape": "whole", "when": {"a": {"b": {"shape": 1}}}}}}, "tools.X.when.a.b.shape must be"),
        ({"summaries": {"begins": [3]}}, "summaries.begins must be a list of strings"),
        ({"attached": {"named": ["("]}}, "attached.named must hold expressions"),
    ],
)
def test_what_cannot_be_used(table: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        shapes_of(table)
    assert says in str(caught.value)
