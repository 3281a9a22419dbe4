"""Ways around a workbench that holds no taint: by names, by other sessions, by other models, by what is cut."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from tests.delivery.benching import ENDED, Chat, all_kinds, put
from tests.delivery.stage import LABEL, OTHERS, Stage, State
from tests.http.served import AGENTS, COPILOT, PERSON

U, E = State.UNKNOWN, State.ENTRIES
CALL = "from stanch_workbench import files, call, Refused\n"


# names


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a/./b", "..", "/etc/../etc/passwd"])
def test_a_mount_leads_nowhere_else(stage: Stage, path: str) -> None:
    chat = Chat(stage)
    told = chat.bash("echo ran", path)
    assert "ran" not in told
    assert "path" in told


def test_names_that_are_odd_are_names(stage: Stage) -> None:
    chat = Chat(stage)
    for path in ("-rf", "a b", "~", "$HOME", "ü/é.txt", "incoming", "lock"):
        put(stage, State.EMPTY, path, path)
        assert chat.bash(f"cat -- '{path}'", path) == f"{path}\n{ENDED}"
    told = chat.bash("pwd; ls /; cat ../lock", "lock")
    assert "/workbench" in told
    assert "incoming" not in told.partition("lib")[2]


def test_a_file_where_a_folder_is_and_a_folder_where_a_file_is(stage: Stage) -> None:
    chat = Chat(stage)
    put(stage, State.EMPTY, "a", "file\n")
    assert "lie inside of another" in chat.bash("echo ran", "a", "a/b")
    assert chat.bash("cat a", "a").startswith("file")
    stage.send("DELETE", "/api/files/content/a")
    put(stage, State.EMPTY, "a/b", "below\n")
    for refused in (chat.bash("echo ran", "a/b"), chat.fetch("a/b").text):
        assert "stands in the workbench where a folder is needed" in refused
    assert chat.bash("rm a; mkdir a; echo mine > a/mine").endswith(ENDED)
    assert chat.bash("cat a/mine a/b", "a/b").startswith("mine\nbelow\n")
    assert chat.bash("rm a/b; mkdir a/b").endswith(ENDED)
    for refused in (chat.bash("echo ran", "a/b"), chat.fetch("a/b").text):
        assert "a folder stands in the workbench" in refused


NAMED = """
import base64, os
key = files.get("n.txt").decode()
for name in (key, base64.b64encode(key.encode()).decode()):
    try:
        print(call("files_write", path="x/" + name, content="x"))
    except Refused as why:
        print(why.code)
os.mkdir(key)
open(key + ".txt", "w").close()
print(os.listdir())
open("d/" + key)
"""


def test_a_name_with_a_secret_goes_nowhere(stage: Stage) -> None:
    value = "named-after-a-secret-1"
    stage.secret("NAMED", value)
    stage.write(E, "PUT", "/api/files/text/n.txt", json={"content": value}, headers=stage.headers(E, "NAMED"))
    told = Chat(stage).run(CALL + NAMED)
    assert told.startswith("content_opaque\ncontent_opaque\n")
    assert value not in told
    assert told.count("{{NAMED}}") >= 3
    assert [one["path"] for one in stage.get("/api/files")["items"]] == ["n.txt"]


# what is cut


def test_output_is_cut_after_it_was_looked_through(stage: Stage) -> None:
    put(stage, E, "e.txt")
    chat = Chat(stage)
    chat.bash("true", "e.txt")
    code = "key = open('e.txt').read().split()[3]\n"
    for before in (29_900, 29_990, 30_000, 30_010):
        told = chat.run(code + f"print('x' * {before} + key + 'y' * 60000)")
        assert stage.value[:8] not in told
        assert stage.value[-8:] not in told
        assert "characters left out" in told
    # The limit of the sandbox, in the middle of the value; and a program that is stopped while it prints it.
    most = 16 << 20
    told = chat.run(code + f"import sys\nsys.stdout.write('x' * ({most} - 12) + key + 'y' * 99)")
    assert stage.value[:8] not in told[-2_000:]
    told = chat.run(
        code + "import sys, os\nsys.stdout.write('so: ' + key[:15]); sys.stdout.flush(); os.kill(os.getpid(), 9)"
    )
    assert stage.value[:8] not in told
    told = chat.run(code + "import sys, time\nprint('so: ' + key[:15], end='', flush=True); time.sleep(30)", timeout=1)
    assert stage.value[:8] not in told


PIECES = """
import sys
key = open("e.txt").read().split()[3]
for letter in key:
    print(letter, end="", file=sys.stdout if ord(letter) % 2 else sys.stderr, flush=True)
raise KeyError(key)
"""


def test_both_streams_in_pieces_are_one_text(stage: Stage) -> None:
    put(stage, E, "e.txt")
    assert Chat(stage).run(PIECES, "e.txt").count(LABEL) >= 2


def test_a_secret_that_comes_in_during_the_run_is_known_at_its_end(stage: Stage) -> None:
    put(stage, E, "e.txt")
    chat = Chat(stage)
    told = chat.run(CALL + "print('first', flush=True)\nprint(files.get('e.txt').decode(), call)")
    assert told.startswith(f"first\nthe key is {LABEL}")
    stage.secret("LATE", "came-in-late-12345")
    assert chat.bash("echo came-in-late-12345; date").startswith("{{LATE}}")


def test_a_secret_that_the_vault_has_forgotten_is_still_known(stage: Stage) -> None:
    value = "was-once-a-secret-1"
    stage.secret("ONCE", value)
    stage.write(E, "PUT", "/api/files/text/e.txt", json={"content": value}, headers=stage.headers(E, "ONCE"))
    chat = Chat(stage)
    assert chat.bash("cat e.txt", "e.txt").startswith("{{ONCE}}")
    assert stage.send("DELETE", "/api/vault/ONCE").status_code == 200
    assert stage.send("DELETE", "/api/vault/ONCE/values?confirm=ONCE").status_code == 200
    told = chat.bash("cat e.txt; base64 e.txt")
    assert value not in told
    assert base64.b64encode(value.encode()).decode()[:12] not in told
    told = chat.run(CALL + "print(call('files_write', path='o.txt', content=open('e.txt').read())['version'])")
    assert told.startswith("1")
    reply = stage.ask("GET", "/api/files/content/o.txt", session=chat.id)
    stage.assert_withheld(reply, "content_opaque")


# calls from inside


TRIES = """
for tool, given in (
    ("files_write", {"path": "n.txt", "content": "x"}),
    ("files_read", {"path": "c.txt"}),
    ("files_read", {"path": "secrets/a.txt"}),
    ("execute_cmd", {"command": "ls"}),
    ("run_code", {"code": "1"}),
    ("tools_execute", {"tool": "execute_cmd", "arguments": {}}),
    ("files_get", {"path": "c.txt"}),
    ("files_read", {}),
    ("files_show", {"path": "c.txt"}),
):
    try:
        print(tool, call(tool, **given)["version"])
    except Refused as why:
        print(tool, why.status, why.code, why)
try:
    files.get("secrets/a.txt")
except Refused as why:
    print(why.status, why.code)
"""


def test_calls_from_inside_are_calls_of_the_session(stage: Stage) -> None:
    all_kinds(stage)
    put(stage, State.EMPTY, "secrets/a.txt")
    chat = Chat(stage, free=False)
    stage.group("code", {"priority": 1, "tool_pattern": "run_code", "action": "allow"})
    stage.set_context(f"/api/sessions/{chat.id}/run_context", {"security_group": "code"})
    told = chat.run(CALL + TRIES)
    lines = told.splitlines()
    assert lines[0].startswith("files_write 403 rule Needs approval")
    assert lines[0].endswith("Code cannot ask a person: call the tool by itself")
    assert lines[1] == "files_read 1"
    assert lines[2].startswith("files_read 403 rule Denied")
    assert [line.split()[:2] for line in lines[3:7]] == [
        [tool, "404"] for tool in ("execute_cmd", "run_code", "tools_execute", "files_get")
    ]
    assert lines[7].startswith("files_read 422 unusable")
    assert lines[8] == "files_show 422 unusable files_show gives bytes: code gets those of a file by its path"
    assert lines[9] == "403 rule"
    assert chat.bash("true", "secrets/a.txt").count("Denied") == 1


def test_bytes_can_be_worked_with(stage: Stage) -> None:
    """To hold back too much is a bug, too."""
    data = bytes(range(256)) * 40
    stage.send("PUT", "/api/files/content/a.bin", content=data, headers={"Content-Type": "application/octet-stream"})
    put(stage, E, "e.txt")
    chat = Chat(stage)
    told = chat.run(
        "import zipfile, hashlib, csv, json, sqlite3\n"
        "with zipfile.ZipFile('all.zip', 'w') as z:\n    z.write('a.bin'); z.write('e.txt')\n"
        "print(zipfile.ZipFile('all.zip').namelist(), hashlib.sha256(open('a.bin', 'rb').read()).hexdigest()[:12])\n",
        "a.bin",
        "e.txt",
    )
    assert told.startswith("['a.bin', 'e.txt'] ")
    assert told.endswith(ENDED)
    # Print everything raw: nothing but the secret is gone.
    assert chat.run("print(open('e.txt').read().replace('k', 'K'))").count(LABEL) <= 1


# other sessions, other people, other models


def test_a_workbench_is_of_one_session(stage: Stage) -> None:
    put(stage, E, "e.txt")
    one, other = Chat(stage), Chat(stage)
    assert one.fetch("e.txt").status_code == 200
    assert other.bash("ls") == ENDED
    reply = stage.ask("POST", f"{one.at}/files", session=other.id, json={"path": "e.txt"})
    assert reply.status_code == 404
    assert other.entries() == {}
    foreign = stage.chat_of("fake/scripted", replace(COPILOT, id="bram"))
    reply = stage.ask("POST", f"/api/sessions/{foreign}/workbench/files", session=one.id, json={"path": "e.txt"})
    assert reply.status_code == 404
    reply = stage.ask("POST", "/api/sessions/nowhere/workbench/files", session=one.id, json={"path": "e.txt"})
    assert reply.status_code == 404
    assert stage.send("POST", f"{one.at}/files", COPILOT, json={"path": "e.txt"}).status_code == 422
    told = one.run("import os, glob\nprint(glob.glob('/workbench/../*/files'), os.environ['STANCH_SOCKET'])")
    assert other.id not in told


def test_only_people_look_into_one(stage: Stage) -> None:
    put(stage, E, "e.txt")
    chat = Chat(stage)
    chat.fetch("e.txt")
    ways = (
        ("GET", chat.at),
        ("GET", f"{chat.at}/files/e.txt"),
        ("DELETE", f"{chat.at}/files/e.txt"),
        ("GET", f"{chat.at}/outputs/call_1"),
        ("DELETE", chat.at),
    )
    for who in AGENTS:
        for method, path in ways:
            assert stage.send(method, path, who, headers={"Stanch-Session": chat.id}).status_code == 403
    for who in OTHERS:
        assert stage.send("POST", f"{chat.at}/files", who, json={"path": "e.txt"}).status_code == 403
    assert chat.read("e.txt") == stage.written(E).encode()
    for path in ("../lock", "%2e%2e/lock", "nope", "e.txt/x"):
        assert stage.send("GET", f"{chat.at}/files/{path}").status_code in (404, 422)
    assert stage.send("DELETE", chat.at, PERSON).status_code == 204
    assert (chat.shown()["entries"], chat.shown()["secrets"]) == ([], [])


def test_a_session_that_has_ended_runs_nothing(stage: Stage) -> None:
    put(stage, State.EMPTY, "c.txt", "x")
    chat = Chat(stage)
    assert chat.fetch("c.txt").status_code == 200
    stage.send("DELETE", f"/api/sessions/{chat.id}")
    assert chat.fetch("c.txt").status_code == 409
    assert chat.entries() == {"c.txt": False}
    assert chat.read("c.txt") == b"x"


def test_a_model_of_another_tier_is_not_shown_what_came_from_elsewhere(stage: Stage) -> None:
    stage.write_policy(stage.policy.read_text().replace('"cloud/*"', '"fake/curious" = "cloud"\n"cloud/*"'))
    stage.service.refresh()
    put(stage, State.EMPTY, "private/a.txt", "for the trusted only\n")
    put(stage, State.EMPTY, "c.txt", "for all\n")
    chat = Chat(stage)
    assert chat.bash("cat private/a.txt; cp private/a.txt b", "private/a.txt").startswith("for the trusted")
    stage.post(f"/api/sessions/{chat.id}/model", {"model": "fake/curious"})
    assert excluded_or_denied(chat.bash("cat private/a.txt", "private/a.txt"))
    told = chat.bash("cat b")
    assert "for the trusted" not in told
    # Nor does it write it anew, to where it may read.
    told = chat.run(
        "from stanch_workbench import call, Refused\n"
        "try:\n    call('files_write', path='open.txt', content=open('b').read())\n"
        "except Refused as why:\n    open('said', 'w').write(why.code)"
    )
    assert chat.read("said") == b"content_tier"
    assert [one["path"] for one in stage.get("/api/files")["items"]] == ["c.txt", "private/a.txt"]
    fresh = Chat(stage, "fake/curious")
    assert fresh.bash("cat c.txt", "c.txt").startswith("for all")


def excluded_or_denied(told: str) -> bool:
    return "for the trusted" not in told and ("ran" not in told or json.loads(told)["ran"] is False)


def test_an_approval_is_for_the_mounts_that_it_named(stage: Stage) -> None:
    all_kinds(stage)
    session = stage.chat_of("fake/scripted")
    call = stage.approved("run_code", {"code": "print(1)", "mounts": ["c.txt"]}, session)
    reply = stage.send(
        "POST",
        f"/api/calls/{call}/start",
        COPILOT,
        json={"tool": "run_code", "arguments": {"code": "print(1)", "mounts": ["c.txt", "e.txt"]}},
    )
    said = reply.json()["call"]
    assert (said["state"], said["reason"]["code"]) == ("rejected", "call_changed")


SOCKET = """
import os, socket
asks = ("GET / HTTP/1.0", "POST /call/files_list HTTP/1.0", "BREW / HTTP/1.0", "GET /files/%2e%2e/lock HTTP/1.0",
        "POST /call/files_list HTTP/1.0\\r\\nContent-Length: 99999999999", "GET /files/c.txt?version=x HTTP/1.0")
for ask in asks:
    one = socket.socket(socket.AF_UNIX)
    one.connect(os.environ["STANCH_SOCKET"])
    one.sendall(ask.encode() + b"\\r\\n\\r\\n")
    print(one.makefile("rb").readline()[9:12].decode())
idle = [socket.socket(socket.AF_UNIX) for _ in range(20)]
for one in idle:
    one.connect(os.environ["STANCH_SOCKET"])
"""


def test_the_socket_is_there_while_code_runs_and_answers_nobody_later(stage: Stage) -> None:
    put(stage, State.EMPTY, "c.txt", "x")
    told = Chat(stage).run(SOCKET)
    assert told.splitlines()[:6] == ["404", "411", "501", "403", "413", "422"]
    assert told.endswith(ENDED)
    assert not list((stage.root / "workbenches").glob("*/socket"))


@pytest.mark.parametrize("letters", ["utf-16", "utf-16-be", "utf-32-le"])
def test_letters_of_more_bytes_are_read_as_letters(stage: Stage, letters: str) -> None:
    put(stage, State.ENTRIES, "e.txt")
    told = (
        Chat(stage)
        .run(f"import sys; sys.stdout.buffer.write(open('e.txt').read().encode('{letters}'))", "e.txt")
        .replace("\ufffd", "")
    )
    assert told == f"the key is {LABEL} and nothing else\n{ENDED}"
    assert stage.value not in told


def test_what_is_between_names_stays_visible(stage: Stage) -> None:
    assert Chat(stage).bash("printf 'a\\0b\\0'") == f"a\ufffdb\ufffd\n{ENDED}"
