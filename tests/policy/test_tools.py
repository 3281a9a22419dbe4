"""What a call does, read off its arguments: every target found, none by a shape that hides it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stanch.app.loading import open_engine
from stanch.app.stamping import Stamper
from stanch.paths.canonical import Canonicaliser
from stanch.policy.declared import DeclaredEffect, Form, Tool
from stanch.policy.known_tools import known, server_of
from stanch.values.call import Category, EffectClass, JudgedCall, ToolCall
from stanch.values.fault import BadCall

BASE = "/nowhere/app"


def _judged(tool: str, arguments: Any, base: str = BASE) -> JudgedCall:
    return Stamper(known(), Canonicaliser()).judged(ToolCall(tool, arguments), base)


def _targets(tool: str, arguments: Any, base: str = BASE) -> list[tuple[str | None, str]]:
    """(class, path below the base) of each effect; a refused path shows as `!`."""
    found = []
    for effect in _judged(tool, arguments, base).effects:
        stamp = effect.stamp
        path = "" if stamp is None else "!" if stamp.refusal else os.path.relpath(stamp.path, base)
        found.append((effect.cls.value if effect.cls else None, path))
    return found


@pytest.mark.parametrize(
    ("tool", "arguments", "targets"),
    [
        ("read_file", {"path": "a"}, [("read", "a")]),
        ("edit_file", {"path": "a", "old": "x", "new": "y"}, [("read", "a"), ("write", "a")]),
        ("list_files", {}, [("read", ".")]),
        ("list_files", {"path": ""}, [("read", ".")]),
        ("grep_files", {"pattern": "x", "path": "src"}, [("read", "src")]),
        ("ask_user", {"question": "/etc/passwd?"}, [(None, "")]),
        ("execute_cmd", {"command": "ls"}, [("execute", ""), ("read", ".")]),
        ("execute_cmd", {"command": "date"}, [("execute", "")]),
        ("run_code", {"code": "1"}, [("execute", "")]),
        ("Read", {"file_path": "a", "path": "b"}, [("read", "a"), ("read", "b")]),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, [("read", "n.ipynb"), ("write", "n.ipynb")]),
        ("MultiEdit", {"file_path": "a", "edits": []}, [("read", "a"), ("write", "a")]),
        ("Glob", {"pattern": "../x/**/*.py", "path": "src"}, [("read", "src"), ("read", "x")]),
        ("Glob", {"pattern": "**/*.{ts,tsx}"}, [("read", "."), ("read", ".")]),
        ("Glob", {"pattern": "/nowhere/etc/*"}, [("read", "."), ("read", "../etc")]),
        ("Glob", {"pattern": "src/main.py"}, [("read", "."), ("read", "src/main.py")]),
        ("Glob", {"pattern": "*/../../etc/*"}, [("read", "."), ("read", "!")]),
        ("Glob", {"pattern": "{..,x}/*"}, [("read", "."), ("read", "!")]),
        ("Glob", {"pattern": "{/etc,x}/*"}, [("read", "."), ("read", "!")]),
        ("WebFetch", {"url": "https://example.com/a?key=1"}, [("network", "")]),
        ("WebFetch", {"url": "file:///nowhere/app/x"}, [("read", "x"), ("network", "")]),
        ("WebFetch", {"url": " FILE:///nowhere/app/x"}, [("read", "x"), ("network", "")]),
        ("mcp__filesystem__read_multiple_files", {"paths": ["a", "b"]}, [("read", "a"), ("read", "b")]),
        (
            "mcp__filesystem__move_file",
            {"source": "a", "destination": "b"},
            [("read", "a"), ("write", "a"), ("write", "b")],
        ),
        ("shell", {"command": ["bash", "-lc", "ls a"]}, [("execute", ""), ("execute", ""), ("read", "a")]),
    ],
)
def test_a_known_tools_targets(tool: str, arguments: Any, targets: list[tuple[str | None, str]]) -> None:
    assert _targets(tool, arguments) == targets


PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@
-old
+*** Delete File: not-a-header
 *** Add File: indented.py
*** Add File: new.txt
+x
*** End Patch"""
UNIFIED = """diff --git a/one b/two
similarity index 90%
rename from one
rename to two
--- a/gen/c.py\t2026-01-01
+++ b/gen/c.py
@@ -1 +1 @@
--- dashes
+x
--- /dev/null
+++ plain
"""


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        (PATCH, ["src/a.py", "src/b.py", "indented.py", "new.txt"]),
        (UNIFIED, ["one", "two", "gen/c.py", "dashes", "plain"]),
        (PATCH.replace("\n", "\r\n"), ["src/a.py", "src/b.py", "indented.py", "new.txt"]),
    ],
)
def test_every_file_a_patch_names_is_a_target(patch: str, names: list[str]) -> None:
    found = _targets("apply_patch", {"input": patch})
    assert found == [("read", n) for n in names] + [("write", n) for n in names]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("read_file", {}, "needs the argument 'path'"),
        ("read_file", {"path": 5}, "got a number"),
        ("read_file", {"path": None}, "needs the argument 'path'"),
        ("read_file", {"path": {"a": 1}}, "got an object"),
        ("read_file", {"path": [["a"]]}, "got a list"),
        ("Read", {"file": "a"}, "'file_path' or 'path'"),
        ("apply_patch", {"input": "no patch at all"}, "names a file"),
        ("execute_cmd", {"command": {"x": 1}}, "a command"),
        ("read_file", ["path"], "must be an object"),
    ],
)
def test_a_call_that_cannot_be_read_says_what_it_lacks(tool: str, arguments: Any, says: str) -> None:
    with pytest.raises(BadCall, match=says):
        _judged(tool, arguments)


def test_a_message_never_holds_the_value() -> None:
    with pytest.raises(BadCall) as caught:
        _judged("read_file", {"path": {"secret": "tok_12345678"}})
    assert "tok_12345678" not in str(caught.value)


def test_an_empty_path_is_refused_but_as_the_root_of_a_listing() -> None:
    assert _targets("read_file", {"path": ""}) == [("read", "!")]


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"file": "/nowhere/app/a.py"}, ["a.py"]),
        ({"deep": [{"x": {"y": "sub/b"}}]}, ["sub/b"]),
        ({"files": {"sub/key": "text"}}, ["sub/key"]),
        ({"uri": "file:///nowhere/app/c"}, ["c"]),
        ({"uri": "FILE:///nowhere/app/c%20d"}, ["c d"]),
        ({"uri": "file:///nowhere/app/..%2F..%2Fetc"}, ["!"]),
        ({"dot": ".env"}, [".env"]),
        ({"url": "https://example.com/a/b"}, [""]),
        ({"word": "hello", "n": 5}, [""]),
        ({"long": "a/" * 3000}, [""]),
        ({"text": "x" * 300 + "/y"}, [""]),
        ({"nul": "a/\0"}, ["a"]),
        ({"slash": "a.py/"}, ["a.py"]),
        ({"through": "sub/../" * 700 + "b"}, ["b"]),
        ({"climbs": "x" * 300 + "/../b"}, ["b"]),
        ({}, [""]),
    ],
)
def test_an_undeclared_tool_counts_as_all_four_on_whatever_looks_like_a_path(arguments: Any, paths: list[str]) -> None:
    judged = _judged("vendor", arguments)
    assert not judged.declared
    assert _targets("vendor", arguments) == [(cls.value, path) for path in paths for cls in EffectClass]


def test_a_name_that_exists_is_a_path_for_an_undeclared_tool(tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    assert [path for _, path in _targets("vendor", {"x": "Makefile"}, str(tmp_path))] == ["Makefile"] * 4
    assert [path for _, path in _targets("vendor", {"x": "Nothing"}, str(tmp_path))] == [""] * 4


def test_a_tilde_is_read_as_the_tool_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere/home")
    assert _targets("read_file", {"path": "~/x"}) == [("read", "../home/x")]
    assert _targets("Read", {"file_path": "~/x"}) == [("read", "../home/x"), ("read", "~/x")]
    literal = Tool("t", (DeclaredEffect(EffectClass.READ, "path"),), expands_home=False)
    judged = Stamper({"t": literal}, Canonicaliser()).judged(ToolCall("t", {"path": "~/x"}), BASE)
    assert [e.stamp.path for e in judged.effects if e.stamp] == [f"{BASE}/~/x"]


def test_a_nested_argument_is_followed_through_lists() -> None:
    tool = Tool("multi", (DeclaredEffect(EffectClass.WRITE, "edits[].path"),))
    judged = Stamper({"multi": tool}, Canonicaliser()).judged(
        ToolCall("multi", {"edits": [{"path": "a"}, {"path": "b"}]}), BASE
    )
    assert [e.stamp.path for e in judged.effects if e.stamp] == [f"{BASE}/a", f"{BASE}/b"]
    with pytest.raises(BadCall):
        Stamper({"multi": tool}, Canonicaliser()).judged(ToolCall("multi", {"edits": "a"}), BASE)


def test_a_resource_uri_that_is_no_file_touches_no_path() -> None:
    tool = Tool("res", (DeclaredEffect(EffectClass.READ, "uri", Form.URI),))
    stamper = Stamper({"res": tool}, Canonicaliser())
    assert stamper.judged(ToolCall("res", {"uri": "notes://x/y"}), BASE).effects[0].stamp is None
    assert stamper.judged(ToolCall("res", {"uri": "file:///a%252fb"}), BASE).effects[0].stamp.refusal  # type: ignore[union-attr]


def test_names_of_servers() -> None:
    assert server_of("mcp__gmail__send") == "gmail"
    assert server_of("mcp__gmail") is None
    assert server_of("read_file") is None
    assert _judged("mcp__x__y", {}).category is Category.MCP


def test_a_policy_declares_tools(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(
        'version = 1\n[tools.deploy]\ncategory = "network"\n'
        'effects = [{ class = "network", argument = "host" }, { class = "read", argument = "bundle" }]\n'
    )
    engine = open_engine(tmp_path / "stanch.toml")
    assert not engine.policy.problems
    judged = engine.stamper.judged(ToolCall("deploy", {"host": "example.com", "bundle": "b.tgz"}), BASE)
    assert [(e.cls, e.stamp.path if e.stamp else None) for e in judged.effects] == [
        (EffectClass.NETWORK, None),
        (EffectClass.READ, f"{BASE}/b.tgz"),
    ]
    assert judged.category is Category.NETWORK
