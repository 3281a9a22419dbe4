"""What a snippet hands over: it is written out no further than it may be."""

from __future__ import annotations

from typing import Any, cast

import pytest

from stanch.app.workbench_inside import Inside
from stanch.app.workbench_snippets import MOST_CHARACTERS, Refused, functions_for


class Answers:
    """Answers with what it is asked."""

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return [tool, arguments]


CALL = functions_for(cast(Inside, Answers()))["call"]


def test_ordinary_arguments_are_handed_over() -> None:
    same = ["x"] * 3
    arguments = {"rows": [[1, 2.5, None, True, "x" * 1_000_000]] * 10, "one": {"a": same, "b": same}}
    assert CALL("tables_add", arguments) == ["tables_add", arguments]
    assert CALL("files_list") == ["files_list", {}]


def _doubled(deep: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(deep):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"v": _doubled(60)},
        {"v": [{"w": _doubled(60)}]},
        {"v": ["x" * 1_000_000] * 1_000},
        {"x" * (MOST_CHARACTERS + 1): 1},
        {"v": [0] * 600_000},
        {"v": 1 << 200_000_000},
    ],
)
def test_what_is_small_as_a_value_and_huge_as_a_text_is_not_written_out(arguments: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="too large"):
        CALL("files_write", arguments)


@pytest.mark.parametrize("words", [(_doubled(60),), ("files_list", _doubled(60)), (1, {})])
def test_a_name_and_arguments_of_another_kind_are_none(words: tuple[Any, ...]) -> None:
    with pytest.raises(Refused):
        CALL(*words)
