"""From a template to a page.

Settles that every value goes through escaping, and that in text nothing stays out of sight. Does not settle what a page
holds. INVARIANT: a value in an attribute is written by `visible`, one in text by `shown`; only a form's own fields hold
it as it is, escaped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from stanch.explain import visible
from stanch.surfaces.console.showing import shown


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=_safe,
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": _shown, "field": _field, "moment": _moment, "stamp": _stamp}
    return environment


def rendered(template: str, **values: Any) -> str:
    """The page, or the piece of one."""
    return _environment().get_template(template).render(**values)


def _template(name: str) -> str:
    return (resources.files("stanch.surfaces.console") / "templates" / name).read_text("utf-8")


def _safe(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _shown(value: Any) -> Markup:
    return value if isinstance(value, Markup) else shown(str(value))


def _field(value: Any) -> Markup:
    """What a form's field holds: the value itself."""
    return escape("" if value is None else str(value))


def _moment(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _stamp(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds")
