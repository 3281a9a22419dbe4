"""What every test about the repository starts from: its root, its files and its modules."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def listed_by_git(root: Path) -> list[str] | None:
    """The files that git tracks or would track, or None where this tree is no git checkout (an unpacked archive)."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    command = [git, "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, capture_output=True, check=False)
    return os.fsdecode(listing.stdout).split("\0") if listing.returncode == 0 else None


def walked(root: Path) -> Iterator[str]:
    """The files below `root`, without the directories that .gitignore names."""
    lines = (root / ".gitignore").read_text(encoding="utf-8").splitlines()
    skipped = {line.strip().rstrip("/") for line in lines} | {".git"}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in skipped and not name.endswith(".egg-info")]
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in names)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def repository_files(root: Path) -> tuple[Path, ...]:
    """Every regular file of the repository that is not ignored."""
    listed = listed_by_git(root)
    names = list(walked(root)) if listed is None else listed
    files = tuple(root / name for name in sorted(names) if name)
    return tuple(path for path in files if path.is_file() and not path.is_symlink())


@pytest.fixture(scope="session")
def modules(root: Path) -> Mapping[str, Path]:
    """Every module below src, by its dotted name."""
    source = root / "src"
    found: dict[str, Path] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found
