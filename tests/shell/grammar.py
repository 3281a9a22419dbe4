"""Random shell commands, harmless ones and ones that would do what is forbidden.

Settles how a command is put together. Does not settle of which forms (`tests.shell.forms`) and words
(`tests.shell.words`), nor what running it leaves behind (`tests.shell.box`).
"""

from __future__ import annotations

from tests.shell import forms
from tests.shell.draws import Draws
from tests.shell.words import Words


class Grammar(Words):
    """Draws one command. `tame`: nothing that could leave the directory in which it runs."""

    def __init__(self, draws: Draws, root: str, *, tame: bool = False) -> None:
        super().__init__(draws, root, tame=tame)
        self._depth = 0

    def command(self) -> str:
        """The whole command."""
        return self._list(self.draws.pick([2, 1, 3])) + self.flush()

    def _list(self, depth: int) -> str:
        outer, self._depth = self._depth, depth
        text = self._statement()
        for _ in range(self.draws.pick([0, 1, 2, 1, 0])):
            text += self.flush() or self.draws.pick(forms.BETWEEN)
            text += self._statement()
        self._depth = outer
        return text

    def _statement(self) -> str:
        if self._depth > 0 and self.draws.chance(55):
            return self.fill(forms.COMPOUND)
        return self.fill(["<simple>", "<simple>", "<simple>", "<state>", "<handed>", "<wrapped>", "<nested>"])

    def put_sub(self) -> str:
        """A statement in a statement."""
        self._depth -= 1
        text = self._statement()
        self._depth += 1
        return text

    def put_inner(self) -> str:
        """A list for a place that ends with a word or a bracket of its own."""
        return self._list(self._depth - 1) + (self.flush() or self.draws.pick(["; ", "\n", " # bad1\n"]))

    def put_subst(self) -> str:
        """The code of a substitution."""
        pending, self.pending = self.pending, []
        text = self._list(0) if self.draws.chance(60) else self.fill(["printf <plain>", "echo <plain>"])
        text += self.flush()
        self.pending = pending
        return text

    def put_code(self) -> str:
        """A list as one word that is code for something else."""
        pending, self.pending = self.pending, []
        text = self._list(min(self._depth, 1)) + self.flush()
        self.pending = pending
        return self.as_word(text)

    def put_doc(self) -> str:
        """The mark of a here-document, whose text comes at the end of the line."""
        mark, ended = self.draws.pick(forms.MARKS)
        body = self.fill(forms.BODIES)
        if "\n" + ended.strip() in "\n" + body:
            body = "bad1"
        self.pending.append(f"{body}\n{ended}\n")
        return mark

    def put_state(self) -> str:
        """A command that changes the shell itself."""
        return self.fill(forms.STATES)

    def put_handed(self) -> str:
        """A path or a directory that comes from somewhere else in the command."""
        return self.fill([line for line in forms.HANDED_ON if ".." not in line] if self.tame else forms.HANDED_ON)

    def put_far(self) -> str:
        """A path that leads up first."""
        return self.put_path() if self.tame else self.fill(forms.UP)

    def put_wrapped(self) -> str:
        """A command behind programs that run it."""
        wrapper = self.draws.pick(forms.WRAPPERS)
        return f"{wrapper} {self.fill(['<simple>', '<simple>', '<nested>', '<wrapped>'])}"

    def put_nested(self) -> str:
        """Code that another shell or a search is given."""
        return self.fill(forms.NESTED)

    def put_test(self) -> str:
        """A condition."""
        return self.fill(forms.TESTS)

    def put_sink(self) -> str:
        """What takes the output of a pipe."""
        return self.draws.pick(forms.SINKS)

    def put_reader(self) -> str:
        """What reads a here-document."""
        return self.draws.pick(forms.READERS)

    def put_use(self) -> str:
        """What a loop does with its variable."""
        return self.draws.pick(["", "cat $X; ", 'ok1 "$X"; ', "$X; ", 'echo "$X" | sh; '])

    def put_name(self) -> str:
        """The name of a function."""
        return self.draws.pick(["f", "ok1", "cat", "f"])

    def put_call(self) -> str:
        """A call of what may be a function."""
        return self.fill(["f", "f <word>", "f <path>", "ok1 <program>", "cat <path>", ":"])

    def put_var(self) -> str:
        """The name of a variable."""
        return self.draws.pick(["A", "X", "B", "U", "C"])

    def put_value(self) -> str:
        """What a variable is given."""
        return self.fill(["<word>", "<path>", "<program>"])

    def put_folder(self) -> str:
        """Where to go."""
        return self.draws.pick(forms.FOLDERS[: forms.NEAR] if self.tame else forms.FOLDERS)

    def put_shell(self) -> str:
        """A shell that takes code."""
        return self.draws.pick(forms.SHELLS)

    def put_place(self) -> str:
        """Where a search begins."""
        return self.fill(["docs", "docs/a", ".", "src", "secrets", "<path>"])

    def put_chosen(self) -> str:
        """What a search looks for."""
        return self.draws.pick(forms.CHOSEN)
