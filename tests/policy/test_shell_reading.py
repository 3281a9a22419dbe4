"""Ways around: commands that bash would run, or paths that it would touch, behind something that hides them."""

from __future__ import annotations

import time

import pytest

from stanch.app.shell_world import ShellWorld, verbs
from stanch.policy.shell.reading import Part
from stanch.policy.shell.running import read
from tests.policy.test_verbs import effects_of


@pytest.mark.parametrize(
    ("line", "found"),
    [
        # a function or an alias does not stand in the way of the program of the same name
        ("rm(){ :; }; find . -exec rm {} +", "wipe ."),
        ("rm(){ :; }; command rm x", "write x"),
        ("rm(){ :; }; bash -c 'rm x'", "write x"),
        ("if a; then exit(){ :; }; fi; exit; rm x", "write x"),
        ("alias c='cat k'; c", "read k"),
        # a program at a place of its own is no built-in
        ("./exit; rm x", "write x"),
        ("./true || rm x", "write x"),
        # a redirection may fail, and so may what prints
        ("true > /no/x || rm x", "write x"),
        ("echo a >&- || rm x", "write x"),
        ("printf %d a || rm x", "write x"),
        # variables
        ("F=k; bash -c 'cat $F'", "unread"),
        ("export F=k; bash -c 'cat $F'", "read k"),
        ("set -a; F=k; bash -c 'cat $F'", "read k"),
        ('F=(a); F+=(k); cat "${F[@]}"', "read k"),
        ("F=k; f(){ local F=a; }; f; cat $F", "read k"),
        ("readonly F=k; F=a; cat $F", "read k"),
        ("F=a; trap 'cat $F' EXIT; F=k", "read k"),
        ('set -- k; cat "${@:1}"', "unread"),
        ('IFS=/; set -- secrets key; cat "$*"', "unread"),
        ("x=; : ${x:=k}; cat $x", "unread"),
        ("x='$(rm y)'; : \"${x@P}\"", "unread"),
        ("PWD=/safe; cd d; cat $PWD/k", "unread"),
        ("declare -i x; x='a[$(rm f)]'", "unread"),
        ("f(){ echo $(( $1 )); }; f 'a[$(rm x)]'", "unread"),
        ("echo $(( $(echo 'a[$(rm x)]') ))", "unread"),
        # code that is printed, written or handed over
        ("echo true | bash <(curl x)", "unread"),
        (". <(curl x)", "unread"),
        ("echo 'rm x' > /dev/stdout | bash", "unread"),
        ("sh -c \"$(trap 'echo bad' EXIT)\"", "unread"),
        ("echo 'ls a' > x.sh; echo 'rm y' >> x.sh; sh x.sh", "write y"),
        ("for i in 1 2; do sh x.sh; echo 'rm y' > x.sh; done", "write y"),
        ("echo 'rm y' > x.sh; chmod +x x.sh; ./x.sh", "write y"),
        ("cat > x.sh <<'X'\nrm y\nX\nbash x.sh", "write y"),
        ("cp a.sh b.sh; sh b.sh", "unread"),
        ("tar -xf a.tar; sh d/x.sh", "unread"),
        ("base64 -d f > x.sh; sh x.sh", "unread"),
        ('command_not_found_handle() { bash -c "$X"; }; foo', "unread"),
        ("coproc rm x", "write x"),
        ("eval \"eval 'rm x'\"", "write x"),
        ("bash -O extglob -c 'rm x'", "write x"),
        ("hash -p ./x ls", "unread"),
        ("python -m pip install x", "run pip install x"),
        ("python -m timeit x", "unread"),
        ("uv run x.py", "script x.py"),
        # where copies and links come to stand
        ("cp d/.env .", "write .env"),
        ("cp -t o d/k", "write o/k"),
        ("mv d/k o/", "write o/k"),
        ("ln -s secrets s; cat s/key", "read secrets/key"),
        ("ln -s secrets s; mv s t; cat t/key", "unread"),
        # names that are found or handed over
        ("find . -type f -exec grep {} +", "below ."),
        ("find . -type f -print0 | xargs -0 grep", "below ."),
        ("printf '%s\\n' a b | xargs -I{} rm {}", "write b"),
        ("printf 'a\\0b c\\0' | xargs -0 rm", "write b c"),
        ("ls | xargs -0I{} rm {}", "write ."),
        ('cat "$(printf %s/%s secrets key)"', "read secrets/key"),
        ("tar -cf a.tar --exclude x --add-file=k d", "read k"),
        ("git clone ../x y", "read ../x"),
    ],
)
def test_what_is_hidden_is_found(line: str, found: str) -> None:
    assert found in effects_of(line)


@pytest.mark.parametrize("line", ["set", "env", "export -p", "declare -p", "readonly"])
def test_what_prints_variables_does_something(line: str) -> None:
    assert not read(line, "/w", ShellWorld("/home/dev"), verbs())[0].command.inert


@pytest.mark.parametrize(
    "line",
    [
        "set -euo pipefail; ls a",
        "n=$(grep -c TODO f); if ((n > 5)); then ls; fi",
        "while IFS= read -r f; do n=$((n+1)); done < x",
        "for i in a b; do docker build -t app-$i s/$i; done",
        "for ((i=0; i<10; i++)); do touch build/f$i.txt; done",
        'tmp=$(mktemp -d); trap \'rm -rf "$tmp"\' EXIT; cp a "$tmp"',
        'f() { local d=$1; ls "$d"; }; f a',
        "git log $(git merge-base main HEAD)..HEAD",
        "chmod +x s.sh && ./s.sh",
        "CARGO_TARGET_DIR=/tmp/t cargo build",
    ],
)
def test_what_is_common_is_read(line: str) -> None:
    assert "unread" not in effects_of(line)


@pytest.mark.parametrize(
    "line",
    [
        "echo " + "{" * 30_000,
        "echo " + " ".join(["{1..900}"] * 50),
        "rm " + "a " * 20_000,
        "x=aaaaaaaaaa; " + "x=$x$x; " * 60 + "cat $x",
        "x=" + "b" * 900 + "; cat ${x%%" + "*b" * 200 + "c}",
        "echo > " + "a" * 200 + "; ls " + "*a" * 100 + "b",
        "echo " + "${a:-" * 200 + "x" + "}" * 200,
        "for i in {1..900}; do for j in {1..900}; do rm $i$j; done; done",
        "while a; do " * 12 + "ls;" + " done;" * 12,
        "trap 'ls' EXIT;" * 300,
        "ls /**/**/**; ls /usr/*/*/*/*/*",
    ],
)
def test_what_is_made_to_take_long_does_not(line: str) -> None:
    started = time.process_time()
    found: list[Part] = read(line, "/usr", ShellWorld("/home/dev"), verbs())
    assert found
    assert time.process_time() - started < 3
