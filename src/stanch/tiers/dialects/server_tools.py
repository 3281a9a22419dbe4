"""The tools that a provider runs by itself: the blocks of their results, and how such a result says that it failed.

Settles what stands in the place of a result's content that is withheld: these blocks take no text, and a call of such a
tool is not valid without its result.
"""

from __future__ import annotations

from stanch.tiers.dialects.checking import Json

RESULTS = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "advisor_tool_result",
    }
)


def failure(kind: str) -> Json:
    """The content of a result of this kind that could not be had."""
    return {"type": f"{kind}_error", "error_code": "unavailable"}
