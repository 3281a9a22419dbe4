"""Does the repository hold what a stranger needs, and nothing of the place it was written in?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

# Written so that this file does not match itself. A directory of that name further down (`/srv/...`) is nobody's.
FOREIGN = re.compile(rb"[.][.]/shared|(?<![\w.~}-])[/]work[/]|index[-]url", re.IGNORECASE)

# What these say is which options pip has; the name of one is a foreign word anywhere else.
OPTIONS_OF_PIP = ("bench/corpus/packages.jsonl", "src/stanch/policy/shell/verbs/packages.toml")

PIN = re.compile(r"([A-Za-z0-9._-]+)==[A-Za-z0-9.!+_-]+( ; [^/@]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def foreign_words(content: bytes) -> list[str]:
    """What a file says about the place where it was written."""
    return sorted({found.decode().lower() for found in FOREIGN.findall(content)})


def normal(requirement: str) -> str:
    """The name of a requirement in the form in which indexes compare names."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, f"no requirement: {requirement!r}"
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def lock_problems(lock: str, requirements: Iterable[str]) -> list[str]:
    """What is wrong with a lock: lines that are neither pins nor hashes, pins without a hash, requirements left out."""
    lines = lock.splitlines()
    found = [f"no pin and no hash: {line!r}" for line in lines if not (PIN.fullmatch(line) or HASH.fullmatch(line))]
    pinned = {normal(match[1]) for line in lines if (match := PIN.fullmatch(line))}
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if PIN.fullmatch(line) and not HASH.fullmatch(following):
            found.append(f"a pin without a hash: {line!r}")
    missing = sorted({normal(one) for one in requirements} - pinned)
    return found + [f"not in the lock: {name}" for name in missing]


def broken_links(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere."""
    targets = LINK.findall(FENCE.sub("", page.read_text("utf-8")))
    return [target for target in targets if not (page.parent / target).exists()]


def test_no_file_speaks_of_where_it_was_written(root: Path, repository_files: tuple[Path, ...]) -> None:
    assert repository_files
    found = {
        name: words
        for path in repository_files
        if (words := foreign_words(path.read_bytes())) and (name := str(path.relative_to(root))) not in OPTIONS_OF_PIP
    }
    assert not found, f"words of a development environment: {found}"


def test_the_lock_holds_pins_and_hashes_for_every_dependency(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    requirements = [one for one in requirements if not one.startswith(f"{project['name']}[")]  # an extra of its own
    assert requirements
    problems = lock_problems((root / "requirements.lock").read_text("utf-8"), requirements)
    assert not problems, "\n".join(problems)


def test_the_changelog_has_room_for_the_next_change(root: Path) -> None:
    headings = re.findall(r"^## +(.*)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[:1] == ["[Unreleased]"], "the first section of CHANGELOG.md is [Unreleased]"
    assert len(headings) == len(set(headings)), f"sections given twice: {headings}"


def test_a_stranger_finds_the_usual_pages(root: Path) -> None:
    pages = ["README.md", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
    pages += [f"docs/{name}.md" for name in ("architecture", "glossary", "threat-model", "reasons")]
    missing = [page for page in pages if not (root / page).is_file() or not (root / page).read_text("utf-8").strip()]
    assert not missing, f"missing or empty: {missing}"


def test_links_between_pages_lead_somewhere(root: Path, repository_files: tuple[Path, ...]) -> None:
    found = {str(path.relative_to(root)): broken_links(path) for path in repository_files if path.suffix == ".md"}
    broken = {name: links for name, links in found.items() if links}
    assert not broken, f"links that lead nowhere: {broken}"


@pytest.mark.parametrize("command", ["run", ".ci/run"])
def test_commands_can_be_run(root: Path, command: str) -> None:
    assert (root / command).stat().st_mode & 0o111 == 0o111
    assert (root / command).read_text("utf-8").startswith("#!/")


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"see ../" + b"shared/notes", 1),
        (b"cd /wor" + b"k/main && pip install --index" + b"-url x", 2),
        (b"a framework/worker, .github/workflows/, an index of urls, /srv/work/x", 0),
    ],
)
def test_foreign_words_are_noticed(content: bytes, count: int) -> None:
    assert len(foreign_words(content)) == count


HASHED = "    --hash=sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("lock", "count"),
    [
        (f"rich==1.0 \\\n{HASHED} \\\n{HASHED}\n", 0),
        (f"rich==1.0 ; sys_platform == 'win32' \\\n{HASHED}\n", 0),
        (f"Rich==1.0 \\\n{HASHED}\n--index" + "-url https://example.com/simple\n", 1),
        ("rich @ https://example.com/rich.whl \\\n" + HASHED + "\n", 2),
        (f"other==1.0 \\\n{HASHED}\n", 1),
        (f"rich==1.0 \\\nother==1.0 \\\n{HASHED}\n", 1),
    ],
)
def test_a_bad_lock_is_noticed(lock: str, count: int) -> None:
    assert len(lock_problems(lock, ["rich>=1"])) == count


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md) [b](gone.md#x) [c](https://example.com) [d](#x)\n```\n[e](no.md)\n```\n", "utf-8")
    assert broken_links(page) == ["gone.md"]
