"""A secret shows itself to nobody but whoever opens it."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import traceback
from typing import Any

import pytest

from stanch.secrets.text import Secret, opened

VALUE = "marker-of-the-value-4711"


@pytest.fixture(name="secret")
def _secret() -> Secret:
    return Secret(VALUE)


@pytest.mark.parametrize(
    "shown",
    [
        repr,
        str,
        ascii,
        lambda s: f"{s}",
        lambda s: f"{s!r}",
        lambda s: f"{s:>40}",
        "{}".format,
        lambda s: "%s" % s,  # noqa: UP031
        lambda s: "%r" % s,  # noqa: UP031
        lambda s: repr([s]) + repr({"a": s}),
        lambda s: pprint.pformat({"a": [s]}),
        lambda s: repr(dir(s)),
        lambda s: repr(dataclasses.make_dataclass("D", ["x"])(s)),
        lambda s: repr(copy.copy(s)) + repr(copy.deepcopy([s])),
        lambda s: repr(getattr(s, "__dict__", "")),
        lambda s: repr(getattr(s, "__slots__", "")),
        lambda s: repr(s._reveal),
    ],
)
def test_nothing_shows_it(secret: Secret, shown: Any) -> None:
    said = shown(secret)
    assert "marker" not in said
    assert "4711" not in said


@pytest.mark.parametrize(
    "does",
    [
        pickle.dumps,
        json.dumps,
        bytes,
        bool,
        len,
        iter,
        lambda s: s + "",
        lambda s: "" + s,
        lambda s: s < s,
        lambda s: s[0],
        vars,
        lambda s: setattr(s, "_reveal", None),
        lambda s: setattr(s, "other", 1),
    ],
)
def test_what_would_give_it_away_is_an_error_without_it(secret: Secret, does: Any) -> None:
    with pytest.raises((TypeError, AttributeError)) as raised:
        does(secret)
    assert "marker" not in "".join(traceback.format_exception(raised.value))


def test_comparing_tells_nothing(secret: Secret) -> None:
    assert secret == secret
    assert secret != Secret(VALUE)
    text: object = VALUE
    assert secret != text
    assert len({secret, Secret(VALUE)}) == 2


def test_a_log_line_does_not_hold_it(secret: Secret, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("test").info("it is %s and %r", secret, {"a": secret})
    assert "marker" not in caplog.text


def test_the_one_way_to_open_it(secret: Secret) -> None:
    assert opened(secret) == VALUE


@pytest.mark.parametrize("bad", ["", b"x", None, 7])
def test_what_is_no_secret_is_refused_without_being_repeated(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Secret(bad)
