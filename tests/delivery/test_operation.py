"""Operations, by themselves: what they declare, and that they keep to it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from stanch.delivery.admit import ContentRefused, Delivery, admit_content, admit_written_content
from stanch.delivery.gates import RegistryGate
from stanch.delivery.operation import (
    OPERATIONS,
    Asked,
    ContentDelivery,
    ContentDeliveryUnaccounted,
    Undeclared,
    made_of,
    operation,
)
from stanch.delivery.source import Kind, Source, known
from stanch.provenance.registry import Registry
from stanch.provenance.states import Cause, Unknown
from stanch.secrets.projection import Projector
from stanch.values.identity import Principal
from stanch.values.reason import Code
from tests.http.served import COPILOT, PERSON, WORKFLOW

LOST = Source(Kind.FILE, "a", known(Unknown(Cause.INCOMPLETE)))


@dataclass
class Working:
    """What an operation of these tests is given."""

    delivery: Delivery
    done: list[str] = field(default_factory=list)


def working(principal: Principal = COPILOT) -> Working:
    return Working(Delivery(principal, RegistryGate(Registry(), lambda _: Projector({}))))


def silent(access: Working, _: Asked) -> str:
    """Give something without a word on what it is made of."""
    access.done.append("run")
    return "something"


def test_an_operation_for_models_that_declares_nothing_is_none() -> None:
    with pytest.raises(Undeclared, match="content_delivery"):
        made_of("x", Asked, silent, tool="files_read")


def test_a_module_that_defines_one_cannot_be_imported() -> None:
    """Not only where it is used: the process that has it does not start."""
    text = (
        "from stanch.delivery.operation import Asked, operation\n"
        "@operation('x', Asked, tool='files_read')\n"
        "def x(access, asked):\n"
        "    'Give something.'\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Undeclared" in done.stderr


def test_an_operation_says_what_it_does() -> None:
    def wordless(access: Working, asked: Asked) -> None:
        return None

    with pytest.raises(Undeclared, match="does"):
        made_of("x", Asked, wordless)


def test_a_name_is_given_once() -> None:
    taken = next(iter(OPERATIONS))
    with pytest.raises(ValueError, match="already"):
        operation(taken, Asked)


def test_what_is_not_accounted_for_is_not_given_to_a_model() -> None:
    found = made_of("x", Asked, silent, tool="files_read", content_delivery=ContentDelivery.SOURCED)
    access = working()
    with pytest.raises(ContentDeliveryUnaccounted) as raised:
        found(access, Asked())
    assert (raised.value.reason.code, raised.value.reason.subject) == (Code.CONTENT_UNACCOUNTED, "x")
    for principal in (PERSON, WORKFLOW):
        assert found(working(principal), Asked()) == "something"


def test_what_no_model_may_use_does_not_even_run() -> None:
    found = made_of("x", Asked, silent)
    access = working()
    with pytest.raises(ContentRefused):
        found(access, Asked())
    assert access.done == []
    assert found(working(PERSON), Asked()) == "something"


def test_effects_come_before_the_refusal_of_what_was_written() -> None:
    def writes(access: Working, _: Asked) -> str:
        """Write something."""
        access.done.append("committed")
        if admit_written_content(access.delivery, (LOST,)):
            access.done.append("shown")
        access.done.append("effects")
        return "it"

    access = working()
    with pytest.raises(ContentRefused) as raised:
        made_of("x", Asked, writes, tool="files_write", content_delivery=ContentDelivery.SOURCED)(access, Asked())
    assert raised.value.saved
    assert access.done == ["committed", "effects"]


def test_arguments_hold_nothing_that_is_not_known_and_show_no_value() -> None:
    class Reads(Asked):
        """Some arguments."""

        path: int

    with pytest.raises(ValueError, match="path") as raised:
        Reads.model_validate({"path": "hunter2-but-long", "other": 1})
    assert "hunter2" not in str(raised.value)


def test_an_account_of_one_call_is_none_of_the_next() -> None:
    def once(access: Working, _: Asked) -> str:
        """Give something, and account for it the first time."""
        if not access.done:
            admit_content(access.delivery, ())
        access.done.append("x")
        return "it"

    found = made_of("x", Asked, once, tool="files_read", content_delivery=ContentDelivery.SOURCED)
    done: list[str] = []
    assert found(Working(working().delivery, done), Asked()) == "it"
    with pytest.raises(ContentDeliveryUnaccounted):
        found(Working(working().delivery, done), Asked())
