"""Ways around a taint: whatever code makes of a copy that nobody can vouch for, and however it tries to say it."""

from __future__ import annotations

import re

import pytest

from stanch.app.workbench_gates import Filling
from stanch.values.fault import BadInput
from tests.delivery.benching import ENDED, WITHHELD, Chat, all_kinds, excluded, put
from tests.delivery.stage import Stage, State

U, E = State.UNKNOWN, State.ENTRIES
HIDDEN = "wholly-unknown-to-the-vault"


@pytest.fixture
def chat(stage: Stage) -> Chat:
    """A chat whose workbench holds a tainted copy, with content that no vault knows."""
    all_kinds(stage)
    put(stage, U, "u.txt", f"{HIDDEN}\n")
    made = Chat(stage)
    made.taint()
    return made


def withheld(chat: Chat, code: str, **more: str) -> None:
    """Runs code of which the model must be told nothing."""
    told = chat.bash(code, **more)
    assert told == chat.bash("true"), "the model is told the same of whatever ran"
    assert HIDDEN not in told
    assert "exit" not in told


def test_it_is_said_on_no_other_way(chat: Chat) -> None:
    for code in (
        "cat u.txt",
        "cat u.txt >&2",
        "exit 7",
        "kill -9 $$",
        f"mkdir {HIDDEN}; ls",
        "head -c 20000000 /dev/zero",
        "sleep 0.01; false",
    ):
        withheld(chat, code)
    told = chat.run("raise ValueError(open('u.txt').read())")
    assert told.startswith(WITHHELD)
    assert "ValueError" not in told
    assert "ValueError: wholly" in chat.output()
    assert chat.run("print(call)", language="snippet").startswith(WITHHELD)


def test_what_was_made_beside_it_stays_tainted_when_it_is_gone(chat: Chat) -> None:
    chat.bash(
        f"cp u.txt a; cp a b; mv u.txt moved; ln moved hard; ln -s moved soft; mkdir -p 'd/{HIDDEN}'; mkfifo pipe; "
        "head -c 5 moved > part; rm moved a"
    )
    entries = chat.entries()
    assert set(entries) == {"b", "hard", "soft", "d", f"d/{HIDDEN}", "pipe", "part"}
    assert all(entries.values())
    for left in ("b", "hard", "soft", "pipe", "part"):
        told = chat.bash(f"ls -R; cat b; rm '{left}'")
        assert told.startswith(WITHHELD), left
        assert HIDDEN not in told
    assert chat.bash("ls -R; rm -r d").startswith(WITHHELD)
    assert chat.bash("ls -A; echo free") == f"free\n{ENDED}"


def test_a_copy_of_a_copy_in_a_later_call_is_one(chat: Chat) -> None:
    chat.bash("cp u.txt one")
    chat.bash("rm u.txt; cp one two")
    chat.bash("rm one; cat two > three")
    assert chat.bash("rm two").startswith(WITHHELD)
    assert chat.entries() == {"three": True}
    assert chat.bash("cat three").startswith(WITHHELD)


def test_a_clean_file_that_is_changed_beside_it_is_one(stage: Stage, chat: Chat) -> None:
    stage.send("DELETE", f"{chat.at}/files/u.txt")
    assert chat.bash("mkdir -p d; echo x > d/in; echo x > swap; echo x > kept", "c.txt").endswith(ENDED)
    chat.taint()
    # The same length, its times set back; a swap of names; rights that say something.
    chat.run(
        "import contextlib, os\n"
        "s = os.stat('c.txt')\n"
        "data = open('u.txt').read()\n"
        "with open('c.txt', 'r+') as f: f.write(data[:s.st_size].ljust(s.st_size))\n"
        "with contextlib.suppress(OSError): os.utime('c.txt', ns=(s.st_atime_ns, s.st_mtime_ns))\n"
        "os.rename('u.txt', 't'); os.rename('swap', 'u.txt'); os.rename('t', 'swap')\n"
        "with contextlib.suppress(OSError): os.chmod('d/in', 0o640); os.utime('d', (len(data), len(data)))\n"
    )
    # Those that it left alone say something, too.
    assert set(chat.entries()) == {"c.txt", "u.txt", "swap", "d", "d/in", "kept"}
    assert all(chat.entries().values())
    assert chat.bash("rm u.txt swap c.txt d/in").startswith(WITHHELD)
    assert chat.bash("ls").startswith(WITHHELD)
    chat.bash("rm -r d kept")
    assert chat.bash("ls -A; echo free") == f"free\n{ENDED}"


@pytest.mark.parametrize("first", ["", "for one in m1 m2; do echo x > $one; done"], ids=["removed", "changed first"])
def test_which_clean_files_are_left_says_nothing(chat: Chat, stage: Stage, first: str) -> None:
    stage.send("DELETE", f"{chat.at}/files/u.txt")
    assert chat.bash("for one in m0 m1 m2 m3; do : > $one; done").endswith(ENDED)
    chat.taint()
    if first:
        chat.bash(first)
    chat.bash("rm m1 m2 u.txt")
    assert chat.entries() == {"m0": True, "m3": True}
    assert chat.bash("ls").startswith(WITHHELD)


def test_no_folder_says_what_was_done_to_it(chat: Chat, stage: Stage) -> None:
    stage.send("DELETE", f"{chat.at}/files/u.txt")
    assert chat.bash("mkdir -p d/deeper; echo x > d/kept").endswith(ENDED)
    look = "stat -c '%s %Y %a' . d d/deeper; python3 -c \"import os; print(os.listxattr('.'))\"; stat -c %X d/kept"
    # As they were made, but for times and rights. WHY none are set here: not every sandbox lets code set them.
    anew = re.sub(r"(?m)^\d+$", "0", re.sub(r"(?m)^(\d+) \d+ \d+$", r"\1 0 700", chat.bash(look)))
    chat.taint()
    chat.run(
        "import contextlib, os\n"
        "data = open('u.txt', 'rb').read()\n"
        "open('d/kept').read()\n"
        "for place in ('.', 'd', 'd/deeper'):\n"
        "    for number in range(300): open(f'{place}/{number:0200}', 'w').close()\n"
        "    for number in range(300): os.unlink(f'{place}/{number:0200}')\n"
        "    with contextlib.suppress(OSError): os.setxattr(place, 'user.said', data)\n"
        "os.unlink('u.txt')\n"
        "for place in ('.', 'd', 'd/deeper'):\n"
        "    with contextlib.suppress(OSError): os.chmod(place, 0o750); os.utime(place, (len(data), 1234))\n"
    )
    assert chat.bash(look) == anew


def test_what_stands_in_the_way_says_nothing(chat: Chat, stage: Stage) -> None:
    put(stage, State.UNRECORDED, "in/a.txt", "clean\n")
    told = chat.bash("true", "in/a.txt")
    chat.bash("rm -r in; echo x > in; mkdir c.txt; touch c.txt/y")
    assert chat.bash("true", "in/a.txt", "c.txt") == told
    assert chat.read("in/a.txt") == b"clean\n"
    chat.bash("rm -r in; ln -s nowhere in")
    assert chat.fetch("in/a.txt").status_code == 200


def test_that_there_is_no_room_says_nothing(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    told = chat.bash("true")
    monkeypatch.setattr(Filling, "check", _no_room)
    assert chat.bash("echo ran", "c.txt") == told
    assert "there is no room" in chat.output()
    assert "ran" not in chat.output()


def _no_room(*_: object) -> None:
    raise BadInput("there is no room")


def test_a_folder_around_the_copy_is_none(stage: Stage) -> None:
    put(stage, U, "in/deep/u.txt")
    chat = Chat(stage)
    chat.taint("in/deep/u.txt")
    assert chat.bash("rm in/deep/u.txt").startswith(WITHHELD)
    assert chat.bash("ls -R in | head -1").startswith("in:\n")


def test_a_person_clears_it_by_removing_the_copy(stage: Stage, chat: Chat) -> None:
    assert chat.shown()["brought"] == ["file:u.txt"]
    assert stage.send("DELETE", f"{chat.at}/files/u.txt").status_code == 204
    assert chat.shown()["tainted"] is False
    assert chat.bash("ls -A; echo free") == f"free\n{ENDED}"


def test_a_later_version_that_is_known_takes_its_place(stage: Stage, chat: Chat) -> None:
    put(stage, State.EMPTY, "u.txt", "known by now\n")
    assert chat.fetch("u.txt").status_code == 200
    assert chat.bash("cat u.txt").startswith("known by now")


def test_what_it_writes_nobody_can_vouch_for(stage: Stage, chat: Chat) -> None:
    told = chat.run(
        "from stanch_workbench import call, Refused\n"
        "data = open('u.txt').read()\n"
        "said = [call('files_write', path='out.txt', content=data)['version']]\n"
        "for tool, given in (('files_write', dict(path=data.strip(), content='x')),\n"
        "        ('files_delete', dict(path='c.txt')), ('knowledge_add', dict(title=data, text='x')),\n"
        "        ('files_share', dict(path='c.txt')),\n"
        "        ('files_move', dict(path='c.txt', to='d.txt'))):\n"
        "    try:\n"
        "        said.append(call(tool, **given))\n"
        "    except Refused as why:\n"
        "        said.append(why.code)\n"
        "open('said', 'w').write(repr(said))\n"
    )
    assert told.startswith(WITHHELD)
    tainted = "workbench_tainted"
    assert chat.read("said").decode() == repr([1, tainted, tainted, tainted, "content_opaque", tainted])
    stage.assert_withheld(stage.ask("GET", "/api/files/text/out.txt", session=chat.id), "content_unknown")
    assert {one["path"] for one in stage.get("/api/files")["items"]} == {"c.txt", "e.txt", "u.txt", "out.txt"}
    # Reading goes on.
    chat.run("from stanch_workbench import files\nopen('got', 'wb').write(files.get('c.txt'))")
    assert chat.read("got").startswith(b"the key is nowhere")


def test_a_link_at_its_place_leads_nowhere(stage: Stage, chat: Chat) -> None:
    chat.bash("rm u.txt; mkdir real; ln -s real way; echo x > real/u.txt; ln -s real e.txt; ln -s real/u.txt u.txt")
    chat.taint()
    put(stage, U, "way/u.txt")
    chat.taint("way/u.txt")
    # A link that nobody can vouch for makes way, and the copy has gone to no other place.
    assert chat.read("real/u.txt") == b"x\n"
    assert stage.value.encode() in chat.read("way/u.txt")
    assert stage.send("DELETE", f"{chat.at}/files/u.txt").status_code == 204
    put(stage, State.EMPTY, "e.txt", "itself\n")
    assert chat.fetch("e.txt").status_code == 200
    assert chat.read("e.txt") == b"itself\n"
    assert chat.read("real/u.txt") == b"x\n"


def test_an_older_copy_does_not_stand_in_for_a_refused_file(stage: Stage) -> None:
    put(stage, State.EMPTY, "d/a.txt", "of old\n")
    chat = Chat(stage)
    assert chat.bash("cat d/a.txt; cp d/a.txt b.txt", "d/a.txt").startswith("of old")
    put(stage, U, "d/a.txt")
    assert excluded(chat.bash("cat d/a.txt", "d/a.txt")) == {"d/a.txt": "content_unknown"}
    assert chat.entries() == {"d": False, "b.txt": False}
    assert "No such file" in chat.bash("cat d/a.txt")
    assert chat.bash("cat b.txt").startswith("of old")
    # Also where a link was put on the way to it, and of a file that is not there any more.
    put(stage, State.EMPTY, "d/a.txt", "of old\n")
    assert chat.bash("mkdir other; mv d/a.txt other; rmdir d; ln -s other d", "d/a.txt").endswith(ENDED)
    stage.send("DELETE", "/api/files/d/a.txt")
    stage.send("DELETE", "/api/files/content/d/a.txt")
    assert excluded(chat.bash("cat d/a.txt", "d/a.txt", "c.txt")) == {"d/a.txt": "not_found", "c.txt": "not_found"}
    assert "No such file" in chat.bash("cat d/a.txt")
