"""`stanch files compile` and `stanch files view` against a real server, and `/attach` in a chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import say
from tests.cli.conftest import Stanch
from tests.cli.test_files import acts_as, model, stage
from tests.delivery.stage import LABEL, Stage, State
from tests.http.served import COPILOT

__all__ = ["acts_as", "model", "stage"]


def test_a_document_is_printed_saved_and_made_a_pdf(stage: Stage, stanch: Stanch) -> None:
    text = "# Plan for {{ day }}\n\n![x](https://x.example/p.png)\n"
    stage.send("PUT", "/api/files/text/in/plan.md.j2", json={"content": text})
    printed = stanch("files", "compile", "in/plan.md.j2", "--set", "day=monday")
    assert "<h1>Plan for monday</h1>" in printed.out
    assert printed.err.strip().endswith("taken out: 1 (pictures)")
    assert stanch("files", "compile", "in/plan.md.j2", "--set", "day=x", "-o", "a.html").code == 0
    assert "<h1>Plan for x</h1>" in Path("a.html").read_text("utf-8")
    again = stanch("files", "compile", "in/plan.md.j2", "--set", "day=y", "-o", "a.html")
    assert (again.code, "is there already" in again.err) == (2, True)
    assert stanch("files", "compile", "in/plan.md.j2", "--set", "day=y", "--pdf").code == 0
    assert Path("plan.pdf").read_bytes().startswith(b"%PDF-")
    undefined = stanch("files", "compile", "in/plan.md.j2")
    assert (undefined.code, "nobody has given a value (line 1)" in undefined.err) == (2, True)
    assert (
        json.loads(stanch("files", "compile", "in/plan.md.j2", "--set", "day=z", "--json").out)["title"] == "Plan for z"
    )


def test_a_file_is_saved_as_a_page(stage: Stage, stanch: Stanch) -> None:
    stage.send("PUT", "/api/files/text/t.csv", json={"content": "a,b\n1,2\n"})
    assert stanch("files", "view", "t.csv").out.startswith("t.csv.html: ")
    assert "<td>1</td>" in Path("t.csv.html").read_text("utf-8")


def test_a_model_gets_a_page_without_secrets_and_no_pdf(
    model: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts_as(model, COPILOT, monkeypatch)
    model.write(State.ENTRIES, "PUT", "/api/files/text/a.md", json={"content": model.written(State.ENTRIES)})
    printed = stanch("files", "compile", "a.md")
    assert LABEL in printed.out
    model.assert_clean(printed.out)
    refused = stanch("files", "compile", "a.md", "--pdf")
    assert (refused.code, Path("a.pdf").exists()) == (1, False)
    assert stanch("files", "view", "a.md").code == 1


def test_a_stored_file_goes_with_what_is_said(stage: Stage, stanch: Stanch) -> None:
    stage.send("PUT", "/api/files/text/a.txt", json={"content": "buy milk"})
    stage.write(State.ENTRIES, "PUT", "/api/files/text/b.txt", json={"content": stage.written(State.ENTRIES)})
    stage._steps.append(say("I see."))
    said = "/attach a.txt\nlook\n/attach b.txt\nand this\n/quit\n"
    done = stanch("chat", "--agent", "coder", "--url", stage.url, stdin=said)
    assert "I see." in done.out
    assert "secrets that cannot be taken out" in done.err
    (body,) = stage.models.bodies()
    (words,) = [one["content"] for one in body["messages"] if one["role"] == "user"]
    assert [one["text"] for one in words] == ["look", "[a.txt]\nbuy milk"]
