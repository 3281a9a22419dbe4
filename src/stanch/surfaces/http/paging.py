"""Lists in pages: what a page is asked by, and how a page of records becomes JSON.

Settles the parameters that every list has. Does not settle what is listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Query

from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.values.records import Broken, Page

Record = TypeVar("Record")
Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=500, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, Query(max_length=8192, description="The `next` of the page before.")]


def item_shown(one: Record | Broken, show: Callable[[Record], Item]) -> Item | BrokenShown:
    """A record as JSON; or that it cannot be read."""
    if isinstance(one, Broken):
        return BrokenShown(id=one.id, table=one.table, problem=one.problem)
    return show(one)


def page_shown(page: Page[Record | Broken], show: Callable[[Record], Item]) -> PageShown[Item | BrokenShown]:
    """A page as JSON, rows that cannot be read among the others."""
    items = [item_shown(one, show) for one in page.items]
    return PageShown[Item | BrokenShown].model_construct(items=items, total=page.total, next=page.next)
