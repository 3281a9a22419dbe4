"""Random words and simple commands of a shell: programs, paths and text, spelled in every way.

Settles spelling, expansions, redirections and simple commands. Does not settle how commands are put together
(`tests.shell.grammar`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from tests.shell.draws import Draws, split

PROGRAMS = split("""
    ok1 ok2 echo cat ls printf touch ok1 echo cat cp rm mkdir mv ln tee head grep sort ok2 : true false
    unknown bad1 bad1 bad1
""")
SOUND = PROGRAMS.index("unknown")
PATHS = split("""
    docs/a docs/b docs/n src/c docs src docs/* docs/[ab] docs/{a,b} docs/over/c src/sub/d ./docs/a
    docs/../src/c docs/x src/sub/* ~/docs/a $PWD/docs/a . src/* * secrets/token secrets secrets/* s*/token
    */token src/way secrets/new docs/../secrets/token docs/over/way secrets/deep/more {docs,secrets}/*
    sec?ets/t* docs/over/../secrets/token token a [r-t]*/token $HOME/secrets/token ~+/secrets/token ?*
    .//secrets//token **/token /dev/null -- {secrets/token,docs/a} src/{way,c} [!d]*/to*n {a..c} docs/{n..o}
""")
OPEN = PATHS.index("src/*")
"""Up to there, a path is one that a command may read."""
FAR = split("""
    ../beside/keep ../beside/n .. ../box/secrets/token ../bin/bad1 ../box/docs/a ~/../beside/n ../*/keep
    <root>/box/secrets/token <root>/beside/n <root>/box/docs/a
""")
TEXTS = (
    "a", "b", "x y", "bad1", "secrets/token", "; bad1", "$(bad1)", "`bad1`", "-n", "-e", "|bad1", "> secrets/new", "'",
    '"', "*", "\\", "a\nbad1", "%s", "$A", "{a,b}", "&& bad1", "ok1 a", "bad1 x", "cat secrets/token", "-", "#x", "$",
    "~", "!", "", "docs/a",
)  # fmt: skip
# `w` stands for a word.
EXPANSIONS = split("""
    $A ${A} ${A:-w} ${A-w} ${A:+w} ${A:=w} ${A#w} ${A%%w} ${A/w/w} ${A//w/} ${A:0:4} ${!A} ${#A} ${A^^} $1
    ${A,,} ${A@Q} ${A[0]} ${A[@]} $@ $* ${@:1} ${1:-w} $# $? $- $_ ${U:-w} ${U-w} ${U:=w} ${U+w} ${A+w}
    $((1+1)) ${A@P} ${!U*} $X ${X[1]} ${B} $C/token ${U:?w} $D
""")
STANDING_IN = ("a", "ok1", "docs/a", "bad1", "secrets/token", "$(bad1)", "$A", "'a b'")
FRONTS = ("A=ok1", "X=a", "A=<plain>", "IFS=/", "PATH=.:$PATH", "BASH_ENV=docs/x", "B=docs/a Q=$(bad1)")
FORMATS = ("'%s\\n'", "%s", "'%b'", "<word>", "-v X %s", "'%s %s\\n'", "'\\x62ad1'")
REDIRECTIONS = [">", ">>", "<", "2>", "&>", ">|", "<>", ">&", "{V}>", "3<", "1<>", "&>>"]
OPTIONS = {
    "ls": ["", "", " -l", " -R", " -a"],
    "cp": ["", "", " -r", " -t docs", " -a", " -s", " -l", " -rL"],
    "rm": ["", " -f", " -r", " -rf"],
    "mkdir": ["", " -p"],
    "mv": ["", " -f", " -t docs", " -n"],
    "ln": [" -s", "", " -sf", " -s -t docs"],
    "tee": ["", " -a"],
    "head": ["", " -n1", " -c 5"],
    "grep": ["", " -r", " -h", " -R", " -l"],
    "sort": ["", " -o docs/n", " -u"],
    "touch": ["", " -c", " -r docs/a"],
    "echo": ["", "", " -n", " -e"],
    "cat": ["", "", " -n", " --"],
}
# One letter or the whole, in other words: <h> and <t> are what stands before and behind the letter <c>.
SPELLINGS = (
    "<h><c><t>", "'<h><c><t>'", '"<h><c><t>"', "<h>\\<c><t>", "<h>''<c><t>", '<h>"<c>"<t>', "$'<h>\\<octal>'<t>",
    "$'<h>\\x<hex>'<t>", "<h>\\\n<c><t>", '$"<h><c><t>"', "${U:-<h><c><t>}", "$(printf %s <h><c><t>)",
    "`echo <h><c><t>`", "<h>${U}<c><t>", "<h>{<c>,}<t>", "$(echo <h><c><t> | cat)", "<h>${A:+<c>}<t>", "<h>$(:)<c><t>",
    "<h>$'\\u00<hex>'<t>", "${A:+<h><c><t>}", "{<h><c><t>,}", "<h>[<c>]<t>", "<h>?<t>", "<h>$((0))<c><t>",
)  # fmt: skip
_PLACE = re.compile(r"<(\w+)>")


class Words:
    """Draws words. What stands in `pending` are here-documents whose text has not come yet."""

    def __init__(self, draws: Draws, root: str, *, tame: bool = False) -> None:
        self.draws, self.root, self.tame = draws, root, tame
        self.pending: list[str] = []
        self._deep = 0
        self._calm = draws.chance(78)

    def fill(self, templates: Sequence[str]) -> str:
        """One of the templates, with everything in angle brackets drawn."""
        return _PLACE.sub(lambda place: str(getattr(self, "put_" + place[1])()), self.draws.pick(templates))

    def flush(self) -> str:
        """The text of the here-documents that were begun on this line."""
        text = "\n" + "".join(self.pending) if self.pending else ""
        self.pending = []
        return text

    # --- words ---------------------------------------------------------------------------------------------------

    def put_root(self) -> str:
        """The folder that everything is in."""
        return self.root

    def put_nl(self) -> str:
        """The end of a line."""
        return "\n"

    def put_subst(self) -> str:
        """The code of a substitution."""
        raise NotImplementedError

    def put_program(self) -> str:
        """A program's name."""
        name = self.draws.pick(PROGRAMS[:SOUND] if self._calm and self.draws.chance(97) else PROGRAMS)
        if self.draws.chance(4):
            near = f"/bin/{name}" if name in ("cat", "ls", "rm") else f"{self.root}/bin/{name}"
            name = self.draws.pick([name, near] if self.tame else [name, near, f"../bin/{name}"])
        return self.spelled(name) if self.draws.chance(25) else name

    def put_path(self) -> str:
        """A path, often one that is open."""
        path = self.draws.pick(PATHS if self.draws.chance(5 if self._calm else 50) else PATHS[:OPEN])
        if not self.tame and self.draws.chance(1 if self._calm else 6):
            path = self.fill(FAR)
        plain = set(path).isdisjoint("*?[{~$")
        return self.spelled(path) if plain and self.draws.chance(30) else path

    def put_word(self) -> str:
        """Any word."""
        return self.put_path() if self.draws.chance(20) else self.put_plain()

    def put_plain(self) -> str:
        """Any word that is not a path with wildcards."""
        if self.draws.chance(15):
            return self._expansion()
        return self.spelled(self.draws.pick(TEXTS if self.draws.chance(60) else TEXTS[:3]))

    def _expansion(self) -> str:
        if self._deep < 2 and self.draws.chance(30):
            self._deep += 1
            code = self.put_subst()
            self._deep -= 1
            if "#" in code or "<<" in code:
                text = f"$({code}\n)"
            else:
                back = code.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")
                text = self.draws.pick([f"$({code})", f"$( {code} )", f"`{back}`"])
        else:
            text = self.draws.pick(EXPANSIONS)
            if "w" in text:
                text = text.replace("w", self.draws.pick(STANDING_IN))
        return f'"{text}"' if self.draws.chance(50) else text

    def as_word(self, text: str) -> str:
        """The text as one quoted word."""
        double = '"' + "".join("\\" + char if char in '"\\$`' else char for char in text) + '"'
        ansi = "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        return self.draws.pick([shlex.quote(text), double, ansi])

    def spelled(self, text: str) -> str:
        """The text in one of the many ways of writing it."""
        if not text or not set(text).isdisjoint("\n\t !\"#$%&'()*;<>?[\\]^`{|}~"):
            return self.as_word(text)
        at = self.draws.below(len(text))
        char = text[at]
        put = {"h": text[:at], "c": char, "t": text[at + 1 :], "octal": f"{ord(char):03o}", "hex": f"{ord(char):02x}"}
        spelling = self.draws.pick(SPELLINGS[:21] if char == "/" else SPELLINGS)
        return _PLACE.sub(lambda place: put[place[1]], spelling)

    # --- simple commands -----------------------------------------------------------------------------------------

    def put_redirect(self) -> str:
        """A redirection, or none."""
        if not self.draws.chance(22):
            return ""
        if self.draws.chance(30):
            return self.draws.pick([" 2>&1", " >/dev/null", " <&0", " 2>&-", " >&2"])
        return f" {self.draws.pick(REDIRECTIONS)} {self.put_path()}"

    def put_simple(self) -> str:
        """A program with words, and at times assignments and redirections."""
        program = self.put_program()
        front = self.fill(FRONTS) + " " if self.draws.chance(8) else ""
        options = self.draws.pick(OPTIONS.get(program, [""]))
        talks = program in ("ok1", "ok2", "echo", "printf", "bad1")
        kinds = ["<word>", "<path>"] if talks else ["<path>", "<path>", "<path>", "<word>"]
        words = [self.fill(kinds) for _ in range(self.draws.pick([1, 1, 0, 2, 2, 3]))]
        if program == "printf" and words:
            words[0] = self.fill(FORMATS)
        if program == "grep":
            words.insert(0, self.draws.pick(["o", "-e o", "''"]))
        command = f"{front}{program}{options} {' '.join(words)}".rstrip(" ")
        redirect = self.put_redirect()
        return f"{redirect.strip()} {command}" if redirect and self.draws.chance(15) else command + redirect
