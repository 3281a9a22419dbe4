"""Case tables: YAML files that say what the gate must answer, for this project's own sentences and for users' policies.

Settles the form of a case file, and names the file and line of whatever is wrong with one. Does not settle how a case
is carried out (`app.case_runner`). Unknown keys are refused: a misspelt expectation would prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stanch.app.case_admissions import read_admission
from stanch.app.case_conversations import read_conversation
from stanch.app.case_flips import read_flips
from stanch.app.case_probes import read_probe
from stanch.app.case_records import Act, Because, Calls, Case, CaseFile, Change, Expected, Holds, Judge, Load, Open
from stanch.app.case_secrets import read_projection, read_secrets
from stanch.app.case_sends import read_history
from stanch.app.case_steps import read_steps
from stanch.app.case_vaults import read_vault
from stanch.app.case_workbenches import read_workbench
from stanch.app.case_yaml import Reading, Table, load_table
from stanch.policy.meant import unknown
from stanch.values.decision import Effect
from stanch.values.fault import BadInput
from stanch.values.identity import Source
from stanch.values.reason import Code, LayerId

POLICY_KEYS = ("policy", "rules", "groups")
TABLE_KEYS = (
    "tools", "sessions", "organization", "on_layer_failure", "layer_timeout_ms", "workspace", "approvals", "models",
    "tiers", "skills", "narrowing", "caller_policy", "hooks",
)  # fmt: skip
SESSION_KEYS = (
    "context", "agent", "source", "group", "cwd", "model", "also", "answers", "layers", "bypass", "store", "active",
    "rows", "above",
    "open_sessions", "organization_rules",
)  # fmt: skip
TREE_KEYS = ("files", "dirs", "many", "symlinks", "hardlinks")
GIVEN_KEYS = (*POLICY_KEYS, *TABLE_KEYS, *SESSION_KEYS, *TREE_KEYS, "secrets")
MOST_FILES = 100_000
CHANGE_KEYS = (*TREE_KEYS, "remove")
EXPECT_KEYS = ("expect", "because", "about", "at", "says", "hides", "mandated", "fault", "flips")
FILE_KEYS = ("spec", "title", "source", "why", "given", "cases")
KINDS = (
    "call",
    "grant",
    "load",
    "steps",
    "calls",
    "conversation",
    "history",
    "projection",
    "admission",
    "vault",
    "workbench",
    "probe",
)
CASE_KEYS = ("it", "why", "given", *KINDS, "read", "write", "goes_on", "proves", *EXPECT_KEYS)
_BECAUSE = re.compile(
    r"rule (?P<rule>\d+)(?: of (?P<group>.+))?|layer (?P<layer>\w+)|(?P<code>\w+)(?: by (?P<by>\w+))?"
)


def case_paths(folder: Path) -> list[Path]:
    """Every case file in or below a folder, or the one file that was named, in the order of their names."""
    if folder.is_file():
        return [folder]
    return sorted(path for ending in ("*.yaml", "*.yml") for path in folder.rglob(ending) if path.is_file())


def read_cases(path: Path) -> CaseFile:
    """The cases of a file. Raises `BadInput` that begins with `file:line` of the first thing wrong with it."""
    return _Reader(path).read(load_table(path))


class _Reader(Reading):
    """Turns one file's tables into cases."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.spec = ""

    def read(self, table: Table) -> CaseFile:
        self.known(table, FILE_KEYS, "a case file")
        self.spec = self.text(table, "spec", "")
        why = self.text(table, "why", "")
        given = self.given(table, Table(0))
        cases = [self.case(row, given, why) for row in self.tables(table, "cases")]
        if not cases:
            raise self.wrong(table, "'cases' is missing or empty")
        seen: set[str] = set()
        for case in cases:
            if case.it in seen:
                raise BadInput(f"{self.path}:{case.line}: two cases are called '{case.it}'")
            seen.add(case.it)
        title, source = self.text(table, "title", ""), self.text(table, "source", "")
        return CaseFile(self.path, self.spec, title, source, why, tuple(cases))

    def given(self, table: Table, around: Mapping[str, Any]) -> dict[str, Any]:
        """What is given for a file or a case: its own keys over those around it, its own policy in place of theirs."""
        own = self.take(table, "given", dict, "a table", Table(table.line))
        self.known(own, GIVEN_KEYS, "'given'")
        self.tree(own)
        read_secrets(self, own)
        source = own.get("source")
        if source is not None and source not in list(Source):
            raise self.wrong(own, unknown("source", str(source), Source), "source")
        if "policy" in own and len([key for key in (*POLICY_KEYS, *TABLE_KEYS) if key in own]) > 1:
            raise self.wrong(own, "'policy' is a whole policy; write rules, groups and tables into it", "policy")
        dropped = POLICY_KEYS if any(key in own for key in POLICY_KEYS) else ()
        dropped = (*dropped, *TABLE_KEYS) if "policy" in own else dropped
        kept = {key: value for key, value in around.items() if key not in dropped}
        return {**kept, **own}

    def tree(self, table: Table) -> None:
        for key in ("files", "symlinks", "hardlinks"):
            entries = self.take(table, key, (dict, list) if key == "files" else dict, "a table", {})
            texts = entries.values() if isinstance(entries, dict) else entries
            if not all(isinstance(one, str) for one in texts):
                raise self.wrong(table, f"'{key}' must hold texts only", key)
        for key in ("dirs", "remove"):
            self.texts(table, key)
        many = self.take(table, "many", dict, "a table", {})
        if not all(type(count) is int and 0 < count <= MOST_FILES for count in many.values()):
            raise self.wrong(
                table, f"'many' must hold numbers of empty files, up to {MOST_FILES:,} in a folder", "many"
            )

    def case(self, row: Table, around: Mapping[str, Any], why: str) -> Case:
        self.known(row, CASE_KEYS, "a case")
        kinds = [key for key in KINDS if key in row]
        if len(kinds) != 1:
            raise self.wrong(row, f"a case has one of {', '.join(KINDS)}, this one has {len(kinds)}")
        acts = tuple(getattr(self, f"_{kinds[0]}")(row))
        given = self.given(row, around)
        if "open_sessions" in row.get("given", ()) and "calls" not in row:
            raise self.wrong(row["given"], "'open_sessions' is for a case with 'calls'", "open_sessions")
        if "grant" in row:
            granted = {f"allow_fs_{row['grant'].get('access', 'write')}s": [row["grant"]["text"]]}
            given["context"] = {**(given.get("context") or {}), **granted}
        said = self.take(row, "proves", (int, str, list), "an id or a list of ids", [])
        proves = tuple(f"{self.spec}.{one}" if isinstance(one, int) else str(one) for one in _listed(said))
        return Case(self.text(row, "it"), self.path, row.line, self.text(row, "why", why), given, acts, proves)

    def expected(self, row: Table) -> Expected:
        effect, fault = self.take(row, "expect", str, "allow, ask or deny"), self.take(row, "fault", str, "a text")
        if (effect is None) == (fault is None):
            raise self.wrong(row, "a call has either 'expect' or 'fault'")
        if effect is not None and effect not in [one.value for one in Effect]:
            raise self.wrong(row, f"'expect' must be allow, ask or deny, not '{effect}'", "expect")
        because = self.because(row) if "because" in row else None
        mandated = self.take(row, "mandated", bool, "true or false")
        about, at = self.take(row, "about", str, "a text"), self.take(row, "at", str, "a text")
        return Expected(effect, because, about, at, self.texts(row, "says"), self.texts(row, "hides"), mandated, fault)

    def because(self, row: Table) -> Because:
        text = self.text(row, "because")
        found = _BECAUSE.fullmatch(text)
        rule = found and found["rule"]
        code = Code.RULE.value if rule else found and found["code"]
        layer = (found["layer"] or found["by"]) if found else None
        bad_code = code is not None and code not in [one.value for one in Code]
        if found is None or bad_code or (layer is not None and layer not in [one.value for one in LayerId]):
            raise self.wrong(row, f"'because' is no reason code and no 'rule N of GROUP': '{text}'", "because")
        return Because(text, code, layer, int(rule) if rule else None, found["group"])

    def _call(self, row: Table) -> Iterator[Act]:
        yield self.judged(row, "call")

    def judged(self, row: Table, key: str) -> Judge:
        call = self.take(row, key, dict, "a table with 'tool' and 'args'")
        self.known(call, ("tool", "args"), f"'{key}'")
        return Judge(self.text(call, "tool"), call.get("args", {}), self.expected(row), read_flips(self, row))

    def _grant(self, row: Table) -> Iterator[Act]:
        """A grant and what it covers: a write (or a read) for each path, under rules that ask about everything."""
        grant = self.take(row, "grant", dict, "a table")
        self.known(grant, ("text", "access", "covers", "leaves", "fault"), "'grant'")
        self.text(grant, "text")
        access = self.text(grant, "access", "write")
        if access not in ("read", "write"):
            raise self.wrong(grant, "'access' must be read or write", "access")
        if "fault" in grant:
            yield Judge(f"{access}_file", {"path": "x", "content": ""}, Expected(None, fault=self.text(grant, "fault")))
        allowed = Expected("allow", Because(f"{access}_grant", f"{access}_grant"))
        for key, wanted in (("covers", allowed), ("leaves", Expected("ask"))):
            for path in self.texts(grant, key):
                yield Judge(f"{access}_file", {"path": path, "content": ""}, wanted)

    def _load(self, row: Table) -> Iterator[Act]:
        load = self.take(row, "load", dict, "a table")
        self.known(load, ("problems", "findings"), "'load'")
        problems = []
        for problem in self.tables(load, "problems"):
            self.known(problem, ("line", "says", "warning"), "a problem")
            line, warning = (
                self.take(problem, "line", int, "a number"),
                self.take(problem, "warning", bool, "a boolean"),
            )
            problems.append((line, self.text(problem, "says"), bool(warning)))
        findings = []
        for finding in self.tables(load, "findings"):
            self.known(finding, ("line", "says"), "a finding")
            findings.append((self.take(finding, "line", int, "a number"), self.text(finding, "says")))
        yield Load(tuple(problems), tuple(findings))

    def _steps(self, row: Table) -> Iterator[Act]:
        for step in self.tables(row, "steps"):
            if "judge" in step:
                self.known(step, ("judge", *EXPECT_KEYS), "a step that judges")
                yield self.judged(step, "judge")
            elif "change" in step:
                change = self.take(step, "change", Table, "a table")
                self.known(change, CHANGE_KEYS, "'change'")
                self.tree(change)
                yield Change(change)
            elif "open" in step:
                self.known(step, ("open", "because"), "a step that opens")
                yield Open(self.text(step, "open"), self.because(step).code if "because" in step else None)
            elif "holds" in step:
                holds = self.take(step, "holds", Table, "a table of files")
                yield from (Holds(path, str(text)) for path, text in holds.items())
            else:
                raise self.wrong(step, "a step has one of 'judge', 'change', 'open' and 'holds'")

    def _calls(self, row: Table) -> Iterator[Act]:
        steps = read_steps(self, self.tables(row, "calls"), self.outcome, self.tree)
        if not steps:
            raise self.wrong(row, "'calls' must be a list of steps", "calls")
        yield Calls(steps)

    def _conversation(self, row: Table) -> Iterator[Act]:
        yield read_conversation(self, self.take(row, "conversation", Table, "a table", Table(row.line)))

    def _history(self, row: Table) -> Iterator[Act]:
        yield read_history(self, self.take(row, "history", Table, "a table", Table(row.line)))

    def _projection(self, row: Table) -> Iterator[Act]:
        yield read_projection(self, self.tables(row, "projection"))

    def _admission(self, row: Table) -> Iterator[Act]:
        yield read_admission(self, self.take(row, "admission", Table, "a table", Table(row.line)))

    def _probe(self, row: Table) -> Iterator[Act]:
        yield read_probe(self, row)

    def _vault(self, row: Table) -> Iterator[Act]:
        yield read_vault(self, self.tables(row, "vault"))

    def _workbench(self, row: Table) -> Iterator[Act]:
        yield read_workbench(self, self.tables(row, "workbench"))

    def outcome(self, step: Table) -> Expected:
        """What must come of a step with a call: as of a call that is judged, but for the words that `expect` knows."""
        because = self.because(step) if "because" in step else None
        about = self.take(step, "about", str, "a text")
        return Expected(
            self.text(step, "expect"), because, about, None, self.texts(step, "says"), self.texts(step, "hides")
        )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
