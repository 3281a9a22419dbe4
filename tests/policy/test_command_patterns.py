"""Does the pattern of a rule fit a command in every form that it can be written in, and no other command?

In the tables `?` is a word that is not known, `|` ends the words before the subcommand, `!` those that change it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.paths.pattern import glob
from stanch.policy.shell.matching import command_pattern
from stanch.policy.shell.width import too_wide
from stanch.values.command import Command

TAKES = {
    "gh": "-X --method -f --raw-field -R --repo",
    "git": "-C -c -m --message",
    "rm": "",
    "find": "-name -type -maxdepth",
    "grep": "-e -f --regexp",
    "tar": "-f -C --file",
}
ALIASES = {
    "gh": (("-X", "--method"), ("-f", "--raw-field")),
    "git": (("-f", "--force"), ("-m", "--message")),
    "rm": (("-r", "-R"), ("-r", "--recursive"), ("-f", "--force")),
    "grep": (("e", "regexp"),),
}


def command(text: str) -> Command:
    words = text.split()
    assignments: list[tuple[str, str | None]] = []
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        assignments.append((name, None if value == "?" else value))
    place, slash, program = words.pop(0).rpartition("/")
    program = "" if program == "?" else program
    place = "" if place in ("/bin", "/usr/bin") else place + slash
    mark = next((at for at, word in enumerate(words) if word in "|!"), None)
    plain = mark is None or words.pop(mark) == "|"
    return Command(
        text,
        program,
        place,
        tuple(None if word == "?" else word for word in words),
        mark or 0,
        plain,
        frozenset(TAKES.get(program, "").split()),
        ALIASES.get(program, ()),
        program in TAKES,
        tuple(assignments),
    )


REFUSED = [
    # programs
    ("rm", "rm -rf x", "rmdir x"),
    ("rm", "/bin/rm x", "rm-rf x"),
    ("/bin/rm", "rm x", "mv x"),
    ("rm", "./rm x", "./rmx x"),
    ("rm", "/tmp/rm x", "/tmp/rm.sh x"),
    ("./deploy", "/opt/deploy", "/opt/deployer"),
    ("mkfs*", "mkfs.ext4 /dev/x", "xmkfs /dev/x"),
    ("/opt*", "/opt/a/tool", "/srv/a/tool"),
    ("*", "? x", None),
    ("*", "./any x", None),
    ("* x", "rm x", "? x"),
    ("rm *", "rm", "? x"),
    # positional words
    ("git push", "git push origin x", "git pull"),
    ("git push", "git push", "git stash push"),
    ("git push *", "git push", "git"),
    ("git push * main", "git push origin main", "git push origin x"),
    ("git push * main", "git push main", "git push"),
    ("git push * main", "git push a b main c", "git pull a b main"),
    ("git push * a * b", "git push x a y b", "git push x b y a"),
    ("git push origin/*", "git push origin/a/b", "git push upstream/a"),
    ("git p*l", "git pull", "git push"),
    ("git push", "git -v push", "git -m push"),
    ("npm run 'a b'", None, "npm run a b"),
    ("git push", "git -C sub | push", "git -C push | status"),
    ("git push", "git -p ! push x", "git -p ! pull x"),
    ("git -C * push", "git -C sub | push", "git | push"),
    ("git -C sub push", "git -C sub | push", "git -C other | push"),
    ("cargo +nightly build", "cargo +nightly | build", "cargo +stable | build"),
    ("git push *", "git push ?", "git pull ?"),
    ("git push origin", "git push origin ?", "git push ?"),
    # a program that nobody knows: both readings
    ("tool push", "tool -v push", "tool -v pull"),
    ("tool push", "tool --at x push", "tool x push"),
    ("tool push", "tool --at=x push", "tool --at=x y push"),
    ("tool push", "tool -a x -b y push", "tool -a x y push"),
    ("tool -v push", "tool -v push", "tool push"),
    ("tool -v push", "tool push -v", "tool pull -v"),
    # one set of letters
    ("rm -rf /*", "rm -rf /", "rm -r /"),
    ("rm -rf /*", "rm -r -f /", "rm -f /"),
    ("rm -rf /*", "rm -fr /", "rm -rf ./build"),
    ("rm -rf /*", "/bin/rm -rf /etc", "rm-rf /etc"),
    ("rm -rf /*", "rm --recursive --force /", "rm --recursive /"),
    ("rm -rf /*", "rm -R --force /x", "rm -i --force /x"),
    ("rm -rf /*", "rm -vrfi /x", "rm -vri /x"),
    ("rm -rf /*", "rm / -rf", "rm -- -rf /"),
    ("rm -rf /*", "rm -rf -- /", "rm -- / -r -f"),
    ("rm -rf /*", "rm --recur --fo /", "rm --rx --fo /"),
    ("rm --recursive", "rm -r x", "rm -i x"),
    ("tool -ab", "tool -b -a", "tool -b"),
    ("tool -ab", "tool -xbya", "tool -xby"),
    # long options
    ("git push --force", "git push origin main --force", "git push origin main --force-with-lease"),
    ("git push --force", "git push --force=yes", "git push --no-force"),
    ("git push --force", "git push --forc", "git push --forx"),
    ("git push --force", "git push --f", "git push -- --force"),
    ("git push --force", "git push -f", "git push -n"),
    ("git push -f", "git push --force", "git push --follow"),
    ("git push --force", "git --force | push", "git --bare | push"),
    ("git push --*force*", "git push --force-with-lease", "git push --tags"),
    ("tool -auto-approve", "tool --auto-approve", "tool --auto"),
    # one dash, one option
    ("find -delete", "find . -name x -delete", "find . -depth -ls"),
    ("find * -delete", "find a b -delete", "find a -name -delete"),
    ("find -name *.pem", "find . -name a.pem", "find . -name a.py"),
    # values
    ("gh api -X *", "gh api -XDELETE repos/a/x", "gh api repos/a/x"),
    ("gh api -X *", "gh api repos/a/x -X ?", "gh api repos/a/x -f X=1"),
    ("gh api --method *", "gh api --method=DELETE r", "gh api repos/a/x"),
    ("gh api --method *", "gh api -X DELETE r", "gh api -f --method"),
    ("gh api --method *", "gh api --meth DELETE r", "gh api --mind DELETE r"),
    ("gh api -X DELETE", "gh api -X DELETE r", "gh api -X GET r"),
    ("gh api -X DELETE", "gh api -XDELETE r", "gh api -XGET r"),
    ("gh api -X DELETE", "gh api -X=DELETE r", "gh api -X=GET r"),
    ("gh api -X DELETE", "gh api -iX DELETE r", "gh api -iX GET DELETE"),
    ("gh api -X DELETE", "gh api -X GET r -X DELETE", "gh api -X GET r DELETE"),
    ("gh api -XDELETE", "gh api --method DELETE r", "gh api --method GET r"),
    ("gh api -X=DELETE", "gh api -X DELETE r", "gh api -X GET r"),
    ("gh api --method=DEL*", "gh api -XDELETE r", "gh api -XGET r"),
    ("gh api --method DELETE", "gh api --method=DELETE r", "gh api --method=GET r"),
    ("gh api -X", "gh api -X GET r", "gh api r"),
    ("gh api -i r", "gh api -if x=1 r", "gh api -fi r"),
    ("gh api repos/*", "gh api -X GET repos/x", "gh api -X repos/x y"),
    ("tar -xzf *.tgz", "tar -xzf a.tgz", "tar -xzf a.zip"),
    ("tar -xzf *.tgz", "tar -z -x -fa.tgz", "tar -x -fa.tgz"),
    ("grep --regexp x", "grep -ex a", "grep -ey a"),
    ("tool -X DELETE", "tool -XDELETE r", "tool -XGET r"),
    ("tool -X DELETE", "tool -X DELETE r", "tool -X GET r"),
    ("tool -XDELETE", "tool -X DELETE", "tool -X GET"),
    ("tool --to a", "tool --to=a", "tool --to=b"),
    ("tool --to=a", "tool --to a", "tool --to b a"),
    # assignments
    ("A=1 tool", "A=1 tool x", "A=2 tool x"),
    ("A=1 tool", "B=2 A=1 tool x", "tool x A=1"),
    ("A=1 tool", "A=1 tool", "A=? tool"),
    ("A=1 B=2 tool", "B=2 A=1 tool", "A=1 tool"),
    ("A=* tool", None, "A=1 tool"),
    ("GIT_SSH=x *", "GIT_SSH=x git push", "git push"),
]


@pytest.mark.parametrize(("text", "fitting", "other"), REFUSED)
def test_a_refusing_rule(text: str, fitting: str | None, other: str | None) -> None:
    pattern = command_pattern(text)
    assert fitting is None or pattern.refuses(command(fitting))
    assert other is None or not pattern.refuses(command(other))


ALLOWED = [
    # programs
    ("pytest", "pytest -q tests", "pytester -q"),
    ("pytest", "pytest", "./pytest"),
    ("pytest *", "/usr/bin/pytest", "/tmp/pytest"),
    ("./run *", "./run test", "/tmp/run test"),
    ("./run", "run test", "./runs test"),
    ("./bin/*", "./bin/a", "./a"),
    ("./bin/*", "./bin/a x", "rm x"),
    ("./bin/*", "./bin/b/c", "./bin/../../tmp/c"),
    ("*", "./anything ?", None),
    ("*", "? ?", None),
    ("py*", "pytest ?", "./pytest"),
    ("* --version", "git --version", "? --version"),
    # every word is covered
    ("git status", "git status", "git status -s"),
    ("git status", "/usr/bin/git status", "git status x"),
    ("git status *", "git status", "git"),
    ("git status *", "git status -s ?", "git stash -s ?"),
    ("git status *", "git status -- x", "git -- status x"),
    ("git status -s", "git status -s", "git status"),
    ("git status -s", "git -s status", "git status -s -s x"),
    ("git log -*", "git log -p", "git log x"),
    ("git add *.py", "git add a/b.py", "git add a.py b.py"),
    ("git add *.py", "git add a.py", "git add ?"),
    ("git push * main", "git push origin main", "git push origin main x"),
    ("git push * main", "git push -n main", "git push ? x"),
    ("git log -- x", "git log -- x", "git log x"),
    ("git log x", "git log x", "git log -- x"),
    ("git log -- *", "git log -- -x y", "git log -x -- y"),
    ("cargo test 'a b'", None, "cargo test a b"),
    # before the subcommand
    ("git status *", "git -C sub | status", "git -p ! status"),
    ("git log *", "git -C sub | log -3", "git -c x=y ! log"),
    ("git -p status *", "git -p ! status -s", "git -p -c x=y ! status"),
    ("git -c color.ui=* log *", "git -c color.ui=no ! log x", "git -c core.pager=x ! log x"),
    ("git -c * log", None, "git -c x=y ! log"),
    ("git -c x=y *", "git -c x=y ! log", "git -c x=z ! log"),
    ("git -C sub status", "git -C sub | status", "git -C other | status"),
    ("git --bare status", "git --bare | status", "git status"),
    ("cargo +nightly build", "cargo +nightly | build", "cargo +nightly | run"),
    ("*", "git -c x=y ! log", None),
    # options
    ("rm -rf build", "rm -r -f build", "rm -rfv build"),
    ("rm -rf build", "rm -fr build", "rm -r build"),
    ("rm -rf build", "rm --force --recursive build", "rm --forc --recursive build"),
    ("rm -rf build", "rm build -rf", "rm -rf build x"),
    ("git push --force", "git push -f", "git push --force-with-lease"),
    ("git log --format", "git log --format=x", "git log --forma=x"),
    ("find . -name *.py", "find . -name a.py", "find . -name a.py -delete"),
    ("find . -depth -ls", "find . -ls -depth", "find . -depth -ls -delete"),
    ("tool -depth -ls", "tool -depth -ls", "tool -depth -ls -delete"),
    ("tool -ab", "tool -ba", "tool -abc"),
    ("tool -a -b", "tool -ab", "tool -abb x"),
    ("tool -ab", "tool -a -b", "tool -a b"),
    # values
    ("gh api -X GET *", "gh api -X GET x", "gh api -X GET -X DELETE x"),
    ("gh api -X GET *", "gh api x -XGET -q", "gh api x"),
    ("gh api -X GET *", "gh api --method=GET x", "gh api -X GET --method DELETE x"),
    ("gh api -X GET *", "gh api -X GET -f a=b x", "gh api -X GET -iXPOST x"),
    ("gh api -X GET *", "gh api -X GET x -- ?", "gh api -X GET x ?"),
    ("gh api -X GET *", "gh api -X=GET x", "gh api -X GET --meth DELETE x"),
    ("gh api -X GET *", "gh api -X GET x", "gh api GET -X DELETE x"),
    ("gh api -X *", "gh api -X GET", "gh api -X GET x"),
    ("gh api -X *", "gh api -X ?", "gh api ?"),
    ("gh api -X", "gh api -X GET", "gh api -X ?"),
    ("git commit -m *", "git commit -m x", "git commit -m x --amend"),
    ("git commit -m *", "git commit --message=x", "git commit"),
    ("docker run -e A=1 -e B=2 x", "docker run -e B=2 -e A=1 x", "docker run -e A=1 -e C=3 x"),
    ("tool -X GET *", "tool -X GET x", "tool -X GET -X DELETE x"),
    ("tool -X GET *", "tool -XGET x", "tool -X GET -vXDELETE x"),
    ("tool -XGET *", "tool -XGET x", "tool -XGET -XDELETE x"),
    ("tool -n 5", "tool -n5", "tool -n 5 6"),
    ("tool --to=a", "tool --to=a", "tool --to=b"),
    ("tool --to a", "tool --to=a", "tool --to b"),
    ("tool --to a *", "tool --to a b", "tool --to a --to b"),
    ("tool -v status", "tool status -v", "tool -v stop"),
    ("tool -v status *", "tool status x -v", "tool -v stop status"),
    ("tool -v status *", "tool -v status x", "tool status -v stop"),
    # a program that nobody knows: an option before the words that count may have one of them for its value
    ("tool get *", "tool get -a x", "tool -a get x"),
    ("tool get *", "tool get", "tool --as=x get"),
    ("tool * get", "tool -a get", "tool -a set"),
    # assignments
    ("AWS_PROFILE=stg-ro aws *", "AWS_PROFILE=stg-ro aws s3 ls", "aws s3 ls"),
    ("AWS_PROFILE=stg-ro aws *", "A=1 AWS_PROFILE=stg-ro aws s3 ls", "AWS_PROFILE=prod aws s3 ls"),
    ("AWS_PROFILE=stg-ro aws *", "AWS_PROFILE=x AWS_PROFILE=stg-ro aws", "AWS_PROFILE=stg-ro AWS_PROFILE=x aws"),
    ("A=1 *", "A=1 git ?", "A=? git"),
    ("A=1 *", "A=1 git x", "A=1 ./git x"),
    ("git *", "A=1 git x", "? x"),
]


@pytest.mark.parametrize(("text", "fitting", "other"), ALLOWED)
def test_an_allowing_rule(text: str, fitting: str | None, other: str | None) -> None:
    pattern = command_pattern(text)
    if fitting is not None:
        assert pattern.allows(command(fitting))
        assert pattern.refuses(command(fitting))
    assert other is None or not pattern.allows(command(other))


def test_quotes_hold_a_word_together() -> None:
    for text in ("npm run 'a b'", 'npm run "a b"', "npm  run a' 'b "):
        assert command_pattern(text).refuses(Command("", "npm", words=("run", "a b")))
        assert command_pattern(text).allows(Command("", "npm", words=("run", "a b")))


@pytest.mark.parametrize(
    ("text", "assignments", "program", "words", "programs"),
    [
        ("git", (), "git", (), "git"),
        ("/usr/bin/git *", (), "/usr/bin/git", ("*",), "git"),
        ("A=1 B=  g* A=1", (("A", "1"), ("B", "")), "g*", ("A=1",), None),
        ("./*/run", (), "./*/run", (), "run"),
        ("grep 'a|b' \"c;d\" ''", (), "grep", ("a|b", "c;d", ""), "grep"),
    ],
)
def test_a_pattern_is_taken_apart(
    text: str, assignments: object, program: str, words: object, programs: str | None
) -> None:
    found = command_pattern(text)
    assert (found.text, found.assignments, found.program, found.words) == (text, assignments, program, words)
    assert found.programs == programs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty"),
        ("   ", "an empty"),
        ("A=1", "assignments without"),
        ("a\tb", "control"),
        ("a\u2028b", "control"),
        ("a\nb", "not a command line"),
        *((f"a {mark} b", "not a command line") for mark in (";", "|", "&", "<", ">", "`", "$(", "&&", '"`"', '"$("')),
        ("a 'b", "never closed"),
        ("a \\; b", "backslash"),
        ("'' a", "no program"),
        ("/tmp/", "no program"),
        ("--force", "no program"),
        ("a " * 200, "words"),
        ("a" * 5000, "4,096"),
    ],
)
def test_what_is_no_pattern(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        command_pattern(text)


@pytest.mark.parametrize(
    ("wide", "fine"),
    [
        ("g*", "git status"),
        ("*", "pytest"),
        ("python", "python -m pytest *"),
        ("python3.12 *", "python3.12 -V"),
        ("python -c *", "python -c 'print(1)' *"),
        ("python scripts/*", "python scripts/a.py *"),
        ("/usr/bin/node *", "node server.js *"),
        ("bash -c *", "bash build.sh"),
        ("sudo -u bob *", "sudo systemctl *"),
        ("env A=1 *", "env A=1 pytest *"),
        ("xargs *", "xargs -0 wc"),
        ("ssh -p 22 *", "ssh build uptime"),
        ("docker run --rm *", "docker ps *"),
        ("podman exec *", "podman exec box ls"),
        ("docker *", "docker build *"),
        ("npx *", "npx eslint *"),
        ("uvx", "uvx ruff *"),
        ("eval *", "make *"),
        ("find src *", "find src -name *.py"),
        ("sed *", "sed -n 3p a"),
        ("awk *", "awk 1 a"),
        ("curl *", "curl https://example.com/*"),
        ("export *", "export A=1"),
        ("tar *", "tar -tf a.tgz"),
        ("git *", "git log *"),
        ("git -C sub *", "git --no-pager log"),
    ],
)
def test_too_wide_to_be_remembered(wide: str, fine: str) -> None:
    assert "it would cover" in (too_wide(command_pattern(wide)) or "")
    assert too_wide(command_pattern(fine)) is None


WORDS = ["x", "y", "-a", "-b", "-ab", "-ba", "-ax", "-a=x", "--to", "--to=x", "--t", "--tool", "-to", "--", "-", "*"]


@given(
    st.lists(st.sampled_from([*WORDS, "x*", "-*", "--to=*"]), max_size=5),
    st.lists(st.sampled_from([*WORDS, None]), max_size=7),
    st.sets(st.sampled_from(["-a", "-b", "--to", "-to", "--tool"])),
    st.lists(st.tuples(st.sampled_from(["-a", "-b"]), st.sampled_from(["--to", "--tool"])), max_size=2),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
def test_what_an_allowing_rule_fits_a_refusing_one_fits_too(
    pattern: list[str],
    words: list[str | None],
    takes: set[str],
    aliases: list[tuple[str, str]],
    known: bool,
    plain: bool,
    front: int,
) -> None:
    """It holds for every pattern and every command: no exceptions."""
    front = min(front, len(words)) if known else 0
    given_command = Command("", "p", "", tuple(words), front, plain, frozenset(takes), tuple(aliases), known)
    made = command_pattern(" ".join(["p", *pattern]))
    if made.allows(given_command):
        assert made.refuses(given_command)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("text", ["p " + "* x " * 40 + "y", "p " + "-a x " * 20 + "* y", "p -abc " + "x*x " * 40])
def test_a_long_command_takes_steps_in_proportion(monkeypatch: pytest.MonkeyPatch, known: bool, text: str) -> None:
    tried = itertools.count()

    def counted(wanted: str) -> Callable[[str], bool]:
        return lambda value: next(tried) >= 0 and glob(wanted)(value)

    monkeypatch.setattr("stanch.policy.shell.options.glob", counted)
    pattern = command_pattern(text)
    words = ("-a", "x", "x", "xx", "-abc") * 1000
    long = Command("", "p", words=words, known=known, takes=frozenset({"-a"}))
    assert pattern.refuses(long) >= pattern.allows(long)
    assert next(tried) <= 4 * (len(pattern.words) + 1) * len(words)
