"""Every trap on the way from a written path to the file it means, on a real file system.

Each test runs twice: with the kernel asked for the whole path at once, and by steps alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from stanch.paths import folding
from stanch.paths.canonical import Canonicaliser, expand_home
from stanch.paths.folding import FoldingMounts
from stanch.paths.grants import Grants
from stanch.paths.protected import Protected
from stanch.values.reason import Code


@pytest.fixture(params=["kernel", "steps"])
def finder(request: pytest.FixtureRequest) -> Canonicaliser:
    return Canonicaliser(use_kernel=request.param == "kernel")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path))
    for folder in ("pub/deep/er", "sec/sub"):
        (root / folder).mkdir(parents=True)
    (root / "sec" / "key").write_text("SECRET")
    (root / "pub" / "ok").write_text("fine")
    return root


def _path(finder: Canonicaliser, path: str, base: Path) -> str:
    stamp = finder.stamp(path, str(base))
    assert stamp.refusal is None, stamp
    return stamp.path


def _refused(finder: Canonicaliser, path: str, base: Path) -> bool:
    stamp = finder.stamp(path, str(base))
    return stamp.refusal is Code.PATH_UNREADABLE and not stamp.path and bool(stamp.detail)


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("pub/ok", "pub/ok"),
        ("./pub//ok", "pub/ok"),
        ("pub/deep/../ok", "pub/ok"),
        ("pub/deep/er/../../../sec/key", "sec/key"),
        ("", ""),
        (".", ""),
        ("pub/", "pub"),
        ("new/dir/file", "new/dir/file"),
        ("new/../sec/key", "sec/key"),
        ("new/../pub/../fresh", "fresh"),
        ("pub/%2e%2e/sec", "pub/%2e%2e/sec"),
        ("pub/..\\sec", "pub/..\\sec"),
        ("-rf", "-rf"),
        (" pub", " pub"),
        ("pub/a\nb", "pub/a\nb"),
        ("app/[slug]/page.tsx", "app/[slug]/page.tsx"),
        ("~", "~"),
        ("...", "..."),
    ],
)
def test_a_written_path_means(finder: Canonicaliser, root: Path, written: str, means: str) -> None:
    assert _path(finder, written, root) == str(root / means)


def test_dots_climb_from_where_a_link_leads_not_from_where_it_stands(finder: Canonicaliser, root: Path) -> None:
    (root / "pub" / "ln").symlink_to(root / "sec")
    (root / "pub" / "l2").symlink_to(root / "sec" / "sub")
    assert _path(finder, "pub/ln/../pub/ok", root) == str(root / "pub/ok")
    assert _path(finder, "pub/l2/../key", root) == str(root / "sec/key")


def test_the_root_itself_and_above_it(finder: Canonicaliser) -> None:
    for written in ("/", "//", "/../..", "/.", "///."):
        assert _path(finder, written, Path("/")) == "/"


def test_links_relative_absolute_and_in_chains(finder: Canonicaliser, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to(root / "c")
    (root / "c").symlink_to("pub/../sec")
    assert _path(finder, "a/key", root) == str(root / "sec/key")


def test_a_dangling_link_is_followed_through_its_target(finder: Canonicaliser, root: Path) -> None:
    (root / "dangling").symlink_to(root / "home" / ".bashrc")
    (root / "out").symlink_to(root / "sec")
    assert _path(finder, "dangling", root) == str(root / "home/.bashrc")
    assert _path(finder, "out/new/x", root) == str(root / "sec/new/x")


def test_a_loop_is_refused(finder: Canonicaliser, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    for written in ("loop", "loop/x", "one/x", "two"):
        assert _refused(finder, written, root)


@pytest.mark.parametrize(
    "written", ["a\0b", "\0", "x" * 4097, "a/" * 2049, "n" * 256, "lone\ud800surrogate", "pub/ok/below"]
)
def test_what_cannot_be_a_path_is_refused_with_its_cause(finder: Canonicaliser, root: Path, written: str) -> None:
    assert _refused(finder, written, root)


@pytest.mark.parametrize(
    "written",
    [
        "/proc/self/cwd/x", "/proc/OWN/environ", "/proc/OWN", "/proc/self/root/etc/passwd", "/proc/self/environ",
        "/proc/thread-self/cwd", "/dev/fd/0", "/dev/stdin", "/proc/1/root/etc/passwd", "/proc/1/cwd", "/proc/self/fd/0",
        "/proc/self",
    ],
)  # fmt: skip
def test_what_means_something_else_to_each_process_is_refused(finder: Canonicaliser, root: Path, written: str) -> None:
    assert _refused(finder, written.replace("OWN", str(os.getpid())), root)


def test_a_link_into_a_process_is_refused_too(finder: Canonicaliser, root: Path) -> None:
    (root / "cwd").symlink_to("/proc/self/cwd")
    assert _refused(finder, "cwd/pub/ok", root)


def test_a_path_that_grows_past_path_max_through_links_still_means_the_secret(
    finder: Canonicaliser, root: Path
) -> None:
    """A short path of links to long names: `realpath` gives up on it without a word; the kernel opens the secret."""
    name, steps = "d" * 247, ""
    here = str(root)
    while len(here) < 3500:
        letter = chr(97 + len(steps))
        os.mkdir(f"{here}/{name}")
        os.symlink(name, f"{here}/{letter}")
        steps, here = steps + letter, f"{here}/{name}"
    fd = os.open(here, os.O_RDONLY)
    hops = 0
    try:
        for _ in range(4):
            os.mkdir("e" * 240, dir_fd=fd)
            os.symlink("e" * 240, "z", dir_fd=fd)
            below = os.open("e" * 240, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd, hops = below, hops + 1
        os.symlink("../" * (len(steps) + hops) + "sec", "out", dir_fd=fd)
    finally:
        os.close(fd)
    written = "/".join(steps) + "/z" * hops + "/out/key"
    assert os.path.samefile(root / written, root / "sec/key")
    assert os.path.realpath(root / written) != str(root / "sec/key"), "the trap is gone from realpath"
    assert _path(finder, written, root) == str(root / "sec/key")


def test_a_folder_that_may_not_be_searched_is_refused_not_taken_as_written(root: Path) -> None:
    """Run as somebody without rights: root searches everything."""
    (root / "np" / "d").mkdir(parents=True)
    (root / "np" / "d" / "ln").symlink_to(root / "sec")
    (root / "np").chmod(0)
    script = (
        "import os, sys\n"
        "from stanch.paths.canonical import Canonicaliser\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "for kernel in (True, False):\n"
        "    stamp = Canonicaliser(use_kernel=kernel).stamp(sys.argv[1], '/')\n"
        "    print(stamp.refusal, stamp.detail)\n"
    )
    folder = root
    while folder != Path("/"):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o111)
        folder = folder.parent
    done = subprocess.run(
        [sys.executable, "-c", script, str(root / "np/d/ln/key")], capture_output=True, text=True, check=False
    )
    (root / "np").chmod(0o755)
    assert done.stdout.splitlines() == ["path_unreadable permission denied"] * 2, done.stderr


def test_a_name_that_looks_deleted_is_a_name(finder: Canonicaliser, root: Path) -> None:
    (root / "x (deleted)").write_text("")
    (root / "ln").symlink_to("x (deleted)")
    assert _path(finder, "ln", root) == str(root / "x (deleted)")


def test_a_link_to_a_name_that_is_no_text_is_refused(finder: Canonicaliser, root: Path) -> None:
    os.symlink(b"\xff\xfe", os.fsencode(root / "ln"))
    assert _refused(finder, "ln", root)


def test_unicode_is_compared_in_one_form_and_opened_as_written(finder: Canonicaliser, root: Path) -> None:
    composed, apart = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    (root / apart).write_text("")
    stamp = finder.stamp(apart, str(root))
    assert stamp.path == f"{root}/{apart}"
    assert stamp.key == f"{root}/{composed}"


def test_names_of_a_file_are_counted_for_a_write(finder: Canonicaliser, root: Path) -> None:
    os.link(root / "pub/ok", root / "other")
    assert finder.stamp("pub/ok", str(root), write=True).links == 2
    assert finder.stamp("sec/key", str(root), write=True).links == 1
    assert finder.stamp("pub", str(root), write=True).links == 0
    assert finder.stamp("fresh", str(root), write=True).links == 0
    (root / "ln").symlink_to("other")
    assert finder.stamp("ln", str(root), write=True).links == 2


def test_protected_places_are_refused_under_every_name(root: Path) -> None:
    finder = Canonicaliser(Protected((f"{root}/.stanch",), (f"{root}/stanch.toml",)))
    (root / ".stanch").mkdir()
    (root / "door").symlink_to(".stanch")
    for written in (".stanch", ".stanch/db", "pub/../.stanch/key", "door/key", "door"):
        assert finder.stamp(written, str(root)).refusal is Code.PATH_PROTECTED
    assert finder.stamp(".stanch-notes", str(root)).refusal is None
    assert finder.stamp("stanch.toml", str(root)).refusal is None
    assert finder.stamp("stanch.toml", str(root), write=True).refusal is Code.PATH_PROTECTED


@pytest.mark.parametrize("written", [".git/hooks/pre-commit", "x/.git/config", ".claude/settings.json", ".git/hooks"])
def test_places_that_run_code_later_are_not_written(finder: Canonicaliser, root: Path, written: str) -> None:
    assert finder.stamp(written, str(root), write=True).refusal is Code.RUNS_CODE
    assert finder.stamp(written, str(root)).refusal is None


@pytest.mark.parametrize("written", [".github/hooks/x", "git/hooks/x", ".git/hooksy", ".gitconfig", ".git/config.md"])
def test_places_that_only_look_like_them_are_written(finder: Canonicaliser, root: Path, written: str) -> None:
    assert finder.stamp(written, str(root), write=True).refusal is None


def test_a_mount_that_ignores_case_is_found_by_looking(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def probing(mount: str) -> bool:
        asked.append(mount)
        return mount == str(root)

    mounts = FoldingMounts([str(root), "/elsewhere"], probing)
    assert asked == [str(root), "/elsewhere"]
    finder = Canonicaliser(folding=mounts)
    assert finder.stamp("pub/OK", str(root)).folded
    assert not finder.stamp("/etc/passwd", str(root)).folded
    assert Grants((f"{root}/Pub",)).covers(finder.stamp("pub/ok", str(root)))
    assert not folding.probe(str(root)), "this file system tells upper from lower case"
    monkeypatch.setattr(folding, "_same", lambda one, other: True)
    assert folding.probe(str(root))


def test_home_is_expanded_only_where_asked_for(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setenv("HOME", str(root))
    assert expand_home("~/x") == f"{root}/x"
    assert expand_home("~nobody-of-that-name/x") == "~nobody-of-that-name/x"
    assert expand_home("a/~/x") == "a/~/x"


def test_a_bind_mount_goes_by_the_name_it_was_reached_by(finder: Canonicaliser, root: Path) -> None:
    (root / "bind").mkdir()
    done = subprocess.run(["mount", "--bind", root / "sec", root / "bind"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("bind mounts are not allowed here")
    try:
        assert _path(finder, "bind/key", root) == str(root / "bind/key")
    finally:
        subprocess.run(["umount", root / "bind"], check=True)
