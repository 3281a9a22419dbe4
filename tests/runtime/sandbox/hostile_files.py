"""Tries to read and to change what it was not given. It is run inside."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

from tests.runtime.sandbox.hostile import AIMS, Held, attempt, call, read


@attempt
def file_of_the_host() -> str:
    return read(AIMS["marked"])


@attempt
def file_by_own_root() -> str:
    return read("/proc/self/root" + AIMS["marked"])


@attempt
def file_by_first_root() -> str:
    return read("/proc/1/root" + AIMS["marked"])


@attempt
def file_by_root_of_the_server() -> str:
    return read(f"/proc/{AIMS['server']}/root" + AIMS["marked"])


@attempt
def file_by_working_directory_of_the_server() -> str:
    return repr(os.listdir(f"/proc/{AIMS['server']}/cwd"))


@attempt
def file_by_planted_link() -> str:
    return read("planted")


@attempt
def file_by_dots() -> str:
    return read("../../../../../../../../../../.." + AIMS["marked"])


@attempt
def file_by_hard_link() -> None:
    os.link(AIMS["marked"], "hard")


@attempt
def file_by_hard_link_of_a_planted_link() -> str:
    call("linkat", -100, b"planted", -100, b"hard2", 0x400)  # AT_SYMLINK_FOLLOW
    return read("hard2")


@attempt
def file_by_handle() -> None:
    call("open_by_handle_at", -100, ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0" + bytes(8)), 0)


@attempt
def file_while_a_link_turns() -> str:
    os.makedirs("turn", exist_ok=True)
    with open("turn/marked", "w") as file:
        file.write("own")
    outside = os.path.dirname(AIMS["marked"])
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            os.rename("turn", "turned")
            os.symlink(outside, "turn")
            os.unlink("turn")
            os.rename("turned", "turn")

    turning = threading.Thread(target=turn)
    turning.start()
    try:
        for _ in range(AIMS["races"]):
            try:
                said = read("turn/marked")
            except OSError:
                continue
            if "own" not in said:
                return said
    finally:
        over.set()
        turning.join()
    raise Held


@attempt
def home() -> str:
    """Anything there but the way to the interpreter, where that leads through it."""
    found = [name for name in os.listdir(AIMS["home"]) if not sys.base_prefix.startswith(f"{AIMS['home']}/{name}/")]
    if not found:
        raise Held
    return repr(found)


@attempt
def shadow() -> str:
    return read("/etc/shadow")


@attempt
def names_of_servers() -> str:
    return read("/etc/resolv.conf")


@attempt
def project() -> str:
    return read(AIMS["project"])


@attempt
def packages_of_the_project() -> str:
    return repr(os.listdir(AIMS["packages"]))


@attempt
def descriptors() -> str:
    """One that leads to anything but what it was given."""
    found = []
    for number in range(3, 1024):
        try:
            about = os.fstat(number)
        except OSError:
            continue
        found.append((number, about.st_dev, about.st_ino))
    if not found:
        raise Held
    return repr(found)


@attempt
def variables_of_the_host() -> str:
    for name, value in os.environ.items():
        if AIMS["variable"] in name or AIMS["variable"] in value:
            return name
    raise Held


@attempt
def variables_of_the_first_process() -> str:
    return _variables("1")


@attempt
def variables_of_the_parent() -> str:
    return _variables(str(os.getppid()))


@attempt
def variables_of_the_server() -> str:
    return _variables(str(AIMS["server"]))


@attempt
def words_of_the_server() -> str:
    said = read(f"/proc/{AIMS['server']}/cmdline")
    if os.path.isdir("/proc/1") and AIMS["variable"] not in said:
        raise Held
    return said


def _variables(process: str) -> str:
    with open(f"/proc/{process}/environ", "rb") as file:
        held = file.read()
    if AIMS["variable"].encode() not in held:
        raise Held
    return repr(held)


@attempt
def write_a_new_file() -> None:
    with open(os.path.dirname(AIMS["marked"]) + "/new", "w"):
        pass


@attempt
def write_a_file() -> None:
    with open(AIMS["marked"], "a"):
        pass


@attempt
def write_by_planted_link() -> None:
    with open("planted", "a"):
        pass


@attempt
def write_a_program() -> None:
    with open("/usr/bin/env", "r+b"):
        pass


@attempt
def write_beside_programs() -> None:
    with open("/usr/hostile", "w"):
        pass


@attempt
def write_at_the_top() -> None:
    with open("/hostile", "w"):
        pass


@attempt
def change_the_mode() -> None:
    os.chmod(AIMS["marked"], 0o644)


@attempt
def change_the_mode_by_planted_link() -> None:
    os.chmod("planted", 0o644)


@attempt
def change_the_times() -> None:
    os.utime(AIMS["marked"], (1, 1))


@attempt
def change_the_owner() -> None:
    os.chown(AIMS["marked"], 1, 1)


@attempt
def change_attributes() -> None:
    os.setxattr(AIMS["marked"], "user.hostile", b"1")


@attempt
def change_a_program() -> None:
    with open("/usr/bin/env", "rb") as file:
        os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & 0o7777)


@attempt
def cut() -> None:
    os.truncate(AIMS["marked"], 0)


@attempt
def remove() -> None:
    os.unlink(AIMS["marked"])


@attempt
def rename() -> None:
    os.rename(AIMS["marked"], AIMS["marked"] + "2")


@attempt
def watch_a_directory() -> None:
    made = call("inotify_init")
    call("inotify_add_watch", made, os.path.dirname(AIMS["marked"]).encode(), 0xFFF)
