"""The page of the trust tiers over HTTP: models, cells, mistakes, and the workspace as a tier sees it."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterator

import pytest

from stanch.app import tier_tree
from tests.console.test_sessions import HOSTILE, in_order
from tests.console.tiers_world import POLICY, fill
from tests.console.visitors import Visitor
from tests.http.served import World

PAGE = "/console/tiers"
Serve = Callable[[str], World]


@pytest.fixture
def visiting(serve: Serve) -> Iterator[Visitor]:
    world = serve(POLICY)
    fill(world.workspace)
    with Visitor(world) as visitor:
        yield visitor


def rows(text: str) -> dict[str, str]:
    """What the tree says of each entry, by its name: all the words of its row."""
    found = {}
    for piece in re.split(r'<(?:summary|div) class="leaf-row">', text)[1:]:
        row = re.split(r"</summary>|</div>", piece)[0]
        name = re.search(r'class="name"><code dir="ltr">(.*?)</code>', row, re.DOTALL)
        assert name is not None
        found[html.unescape(re.sub("<.*?>", "", name[1]))] = " ".join(re.sub("<.*?>", " ", row).split())
    return found


def folder(visitor: Visitor, tier: str = "outside", path: str = "", cls: str = "read", **more: str) -> dict[str, str]:
    reply = visitor.client.get(f"{PAGE}/folder", params={"tier": tier, "cls": cls, "path": path, **more})
    assert reply.status_code == 200, reply.text
    return rows(reply.text)


def test_without_a_policy_file_the_tiers_that_ship_are_shown(world: World, visitor: Visitor) -> None:
    (world.workspace / "a.txt").write_text("x")
    text = visitor.get(PAGE)
    in_order(text, 'aria-current="page">Tiers', "the tiers that ship", "Trusted", "Limited", "Untrusted", "Unassigned")
    assert "default tier" in text
    assert rows(text)["a.txt"].startswith("? a.txt asks")


def test_models_and_cells_stand_with_what_put_them_there(visiting: Visitor) -> None:
    visiting.world.session(model="out/asking-7")
    visiting.world.session(model="other/unheard")
    text = re.sub(r"<[^>]*>", " ", html.unescape(visiting.get(PAGE)))
    text = " ".join(text.split())
    in_order(text, "Outside outside stanch.toml:9", "write ? asks", "Assigned: out/*", "private", "read ✕ denied")
    in_order(text, "private read ✕ denied stanch.toml:12", "private/handbook.md read ✓ allowed stanch.toml:15")
    in_order(text, "Asks first asking", "Assigned: out/asking-*", "out/asking-7 by out/asking-*", "stanch.toml:25")
    in_order(text, "Trusted trusted default tier", "and whatever no pattern fits", "other/unheard by default")
    in_order(text, "Limited limited", "small/llama by its name", "23 cells", "/**/secrets")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("out/asking-9", ("Asks first", "out/asking-*</code> decides", "out/*</code> (outside)")),
        ("small/llama", ("Limited", "its very name")),
        ("nobody/knows", ("Trusted", "No pattern fits it")),
        ("llama", ("Trusted", "No pattern fits it")),
        ("/x", ("names no model",)),
    ],
)
def test_a_model_is_tried(visiting: Visitor, model: str, said: tuple[str, ...]) -> None:
    text = html.unescape(visiting.get(f"{PAGE}?model={model}"))
    in_order(text, "Which tier is a model in?", *said)


def test_the_tree_says_of_each_entry_what_the_tier_says(visiting: Visitor) -> None:
    found = folder(visiting)
    assert found["README.md"] == "✓ README.md allowed"
    assert found["private"].startswith("✕ private / denied unlike its folder · read on private, stanch.toml:12")
    assert found["private"].endswith("below: 1 allowed")
    assert found["src"] == "✓ src / allowed"
    assert found["pay-link"].startswith("✕ pay-link link to private/pay.csv denied unlike its folder")
    assert found["private-link"].startswith("✕ private-link link to private denied")
    assert found["loop"].startswith("– loop link out of reach")
    assert "✕ pay.csv denied" in folder(visiting, path="private").values()
    assert folder(visiting, path="private")["handbook.md"].startswith("✓ handbook.md allowed unlike its folder")
    writes = folder(visiting, cls="write")
    assert writes["README.md"] == "? README.md asks"
    assert writes["drafts"].startswith("✓ drafts / allowed unlike its folder")
    assert folder(visiting, path=".git/hooks", cls="write") == {"pre-commit": "? pre-commit asks"}
    runs = folder(visiting, cls="execute")
    assert runs["drafts"].startswith("? drafts / asks unlike its folder")
    assert "README.md" not in runs
    assert "private-link" in runs


@pytest.mark.parametrize("cls", ["read", "write", "execute"])
def test_what_is_stanchs_own_is_never_shown(visiting: Visitor, cls: str) -> None:
    world = visiting.world
    (world.workspace / "sub").mkdir()
    os.symlink("../.stanch", world.workspace / "sub" / "state")
    query = f"tier=trusted&cls={cls}"
    for text in (visiting.get(f"{PAGE}?{query}"), visiting.get(f"{PAGE}/folder?{query}&path=sub")):
        assert "ours-alone" not in text
        assert ".stanch<" not in text
        assert ".stanch/" not in text
        assert 'code dir="ltr">stanch.toml<' not in text
    assert "Stanch&#39;s own files are here too" in visiting.get(f"{PAGE}/folder?{query}").replace("'", "&#39;")
    own = (".stanch", "sub/state", "src/../.stanch", str(world.workspace / ".stanch"), "./.stanch", ".stanch/")
    for path in (*own, "private-link", "..", "/etc", "sub/../../..", "none", "README.md", "\0", "a" * 5000):
        reply = visiting.client.get(f"{PAGE}/folder", params={"tier": "trusted", "cls": cls, "path": path})
        assert reply.status_code == 404, path
        assert "ours-alone" not in reply.text


def test_what_is_stanchs_own_is_not_counted(serve: Serve) -> None:
    cell = '[[tiers.outside.cells]]\npath = "/**/st*"\nread = "deny"\n[tiers.asking]'
    world = serve(POLICY.replace("[tiers.asking]", cell, 1))
    (world.workspace / "deep").mkdir()
    (world.workspace / "deep" / "stanch.toml").write_text("version = 1\n")
    with Visitor(world) as visitor:
        assert folder(visitor)["deep"] == "✓ deep / allowed"
        (world.workspace / "deep" / "start").write_text("")
        assert folder(visitor)["deep"] == "✓ deep / allowed below: 1 denied"


def test_names_that_nobody_would_see_right_are_written_out(visiting: Visitor) -> None:
    place = visiting.world.workspace / "odd"
    place.mkdir()
    for name in ("<script>alert(1)<", "gnp.\u202eexe", "two\nlines"):
        (place / name).mkdir()
    os.mkdir(os.fsencode(place) + b"/not-\xff-utf8")
    text = visiting.get(f"{PAGE}/folder?tier=outside&cls=read&path=odd")
    assert "<script>" not in text
    assert "\u202e" not in text
    assert "two\nlines" not in text
    found = rows(text)
    assert any("utf8" in name and "out of reach" in said for name, said in found.items())
    assert folder(visiting, path="odd/<script>alert(1)<") == {}
    assert folder(visiting, path="odd/two\nlines") == {}


def test_a_large_folder_comes_in_parts(visiting: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    place = visiting.world.workspace / "many"
    place.mkdir()
    for number in range(25):
        (place / f"f{number:02}").write_text("")
    monkeypatch.setattr(tier_tree, "MOST_SHOWN", 10)
    text = visiting.get(f"{PAGE}/folder?tier=outside&cls=read&path=many")
    assert len(rows(text)) == 10
    assert "15 more" in text
    again = re.search(r'hx-get="([^"]*start=10[^"]*)"', text)
    assert again is not None
    rest = rows(visiting.get(html.unescape(again[1])))
    assert next(iter(rest)) == "f10"
    whole = visiting.get(html.unescape(again[1]).replace("/folder", "").replace("start=10", "start=20"))
    assert list(rows(whole)) == ["f20", "f21", "f22", "f23", "f24"]
    monkeypatch.setattr(tier_tree, "MOST_READ", 8)
    assert "There are more entries than the 8" in visiting.get(f"{PAGE}/folder?tier=outside&cls=read&path=many")


def test_what_is_too_much_to_count_is_said_to_be(visiting: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (visiting.world.workspace / "src" / "app" / f"n{number}").write_text("")
    monkeypatch.setattr(tier_tree, "MOST_BELOW", 3)
    assert folder(visiting)["src"].endswith("too much below to count")
    monkeypatch.setattr(tier_tree, "MOST_BELOW_ALL", 0)
    assert folder(visiting)["src"] == "✓ src / allowed"


def test_folders_that_were_open_are_open(visiting: Visitor) -> None:
    text = visiting.get(f"{PAGE}?tier=outside&open=src&open=src/app&open=gone&open=.stanch&open=private-link")
    found = rows(text)
    assert {"main.py", "b.py"} <= found.keys()
    assert "pay.csv" not in found
    assert "ours-alone" not in text


def test_a_mistake_is_shown_at_its_line_and_no_tree(serve: Serve) -> None:
    world = serve(POLICY.replace('label = "Outside"', "label = 3"))
    fill(world.workspace)
    with Visitor(world) as visitor:
        text = html.unescape(visitor.get(f"{PAGE}?tier=trusted&model=house/one"))
        in_order(text, "Line 10", "label", "the mistake at <b>stanch.toml:10", "There is no tree until")
        assert "cannot be relied on" in text
        assert rows(text) == {}
        visitor.get(f"{PAGE}/folder?tier=trusted&cls=read", 409)
        world.write_policy("version = [")
        world.service.refresh()
        in_order(visitor.get(PAGE), "Line 1", "not TOML", "There is no tree until")


def test_lint_speaks_at_the_cell(serve: Serve) -> None:
    again = '[[tiers.outside.cells]]\npath = "private"\nread = "allow"\n[tiers.asking]'
    world = serve(POLICY.replace("[tiers.asking]", again, 1))
    with Visitor(world) as visitor:
        in_order(visitor.get(PAGE), "never decides", "goes before it")


def test_a_tier_and_a_query_of_nobody(visiting: Visitor) -> None:
    visiting.get(f"{PAGE}?tier=none", 404)
    visiting.get(f"{PAGE}/folder?tier=none", 404)
    visiting.get(f"{PAGE}/folder?tier=outside&cls=fly&start=x")
    reply = visiting.client.get(PAGE, params={"tier": HOSTILE})
    assert reply.status_code == 404
    assert "<script>" not in reply.text
    reply = visiting.client.get(PAGE, params={"model": HOSTILE})
    assert "<script>" not in reply.text.replace('<script src="', "")
