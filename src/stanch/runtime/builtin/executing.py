"""The tool `execute_cmd`: a command for bash, run as it was judged.

Settles what the command is started with, what a model is told of it, and which files its output counts as coming from.
Does not settle how its processes come to their end (`executing_warden`), nor whether it may run.
INVARIANT: the shell, the directory it starts in, `$HOME`, `$PWD` and the absence of all that changes bash are those
that the command was judged with (`policy.shell`, `app.shell_world`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Container
from dataclasses import replace

from stanch.paths.canonical import expand_home
from stanch.runtime.builtin.asked import CannotDo, failed, opened, text
from stanch.runtime.builtin.executing_run import Ending, Ran, run
from stanch.runtime.environment import is_never_passed
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp
from stanch.values.message import Origin, SourceTag, Tags

MOST_SECONDS = 600
USUAL_SECONDS = 120
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")


def execute_cmd(job: Job) -> Output:
    """What the command wrote, both streams as they came, and behind it how it ended."""
    try:
        command, seconds, shell = _command(job), _seconds(job), _shell()
        folders = _folders(job)
        before = _tags(job, folders)
        with opened(Stamp(job.directory, job.directory, job.directory), os.O_RDONLY | os.O_DIRECTORY) as directory:
            try:
                ran = run(shell, command, directory, _environment(job), seconds=seconds, cancelled=job.cancelled)
            except OSError as error:
                raise CannotDo(f"it cannot be started: {os.strerror(error.errno or 0).lower()}") from None
        return _told(ran, seconds, _either(before, _tags(job, folders | _folders(job))))
    except CannotDo as why:
        return failed(why)


def _command(job: Job) -> bytes:
    command = text(job, "command")
    if not command or "\0" in command:
        raise CannotDo("the argument command has to be a text, without a NUL")
    try:
        return command.encode()
    except UnicodeEncodeError:
        raise CannotDo("the argument command is no valid text") from None


def _shell() -> str:
    for path in _SHELLS:
        if os.access(path, os.X_OK):
            return path
    raise CannotDo("there is no bash on this machine")


def _seconds(job: Job) -> float:
    given = job.arguments.get("timeout")
    if given is None:
        return USUAL_SECONDS
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= MOST_SECONDS:
        raise CannotDo(f"the argument timeout has to be a number of seconds, at most {MOST_SECONDS}")
    return float(given)


def _environment(job: Job) -> dict[str, str]:
    """The job's variables, without any that changes bash, whoever put it there.

    WHY no `PWD`: bash takes one over that leads to the directory it is in, and `cd ..` then goes by its spelling. It
    asks the kernel where there is none, and the kernel's answer is the canonical path.
    """
    passed = {name: held for name, held in job.environment.items() if not is_never_passed(name)}
    home = expand_home("~")
    return passed | ({"HOME": home} if home.startswith("/") else {})


def _told(ran: Ran, seconds: float, tags: Tags) -> Output:
    notes = [_end(ran, seconds)]
    if ran.left and ran.ending is Ending.BY_ITSELF:
        notes.append("[what it had left running was ended with it]")
    if ran.living:
        notes.append("[some of what it started may still be running, and cannot be ended from here]")
    body = ran.output if not ran.output or ran.output.endswith("\n") else ran.output + "\n"
    return Output(body + "\n".join(notes), tags, failed=ran.ending is not Ending.BY_ITSELF)


def _end(ran: Ran, seconds: float) -> str:
    match ran.ending:
        case Ending.BY_ITSELF:
            return f"[exit code {ran.code}]" if ran.code >= 0 else f"[ended by {_name(-ran.code)}]"
        case Ending.TOO_LATE:
            return f"[ended after {seconds:g} seconds, the longest that it might take]"
        case Ending.NOT_WANTED:
            return "[ended, since nobody waits for it any more]"
        case Ending.NEVER_STARTED:
            return f"[never started: {os.strerror(ran.code).lower()}]"
        case Ending.LOST:
            return "[it has ended together with the process that watched over it; nobody knows how]"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _folders(job: Job) -> frozenset[str]:
    """Those of the paths that were read which are directories, as far as can be seen now."""
    return frozenset(path for path in (*(job.reads or ()), *job.also_reads) if os.path.isdir(path))


def _tags(job: Job, folders: Container[str]) -> Tags:
    """What the output counts as coming from, as things are now.

    SPEC: a command that was not fully resolved may have read whatever lies below the directory that it started in.
    """
    paths = [*(job.reads or ()), *job.also_reads]
    wholes = [path for path in paths if path in folders]
    if job.reads is None:
        wholes.append(job.directory)
    tags = [SourceTag(path) for path in dict.fromkeys(paths) if path not in folders]
    for path in dict.fromkeys(wholes):
        below, complete = job.closed_below(path)
        tags.append(SourceTag(path, Origin.SUBTREE, below=below, all_below=complete))
    return tuple(tags)


def _either(before: Tags, after: Tags) -> Tags:
    """The tags with what lay below a directory at either time: the command may have moved it in or out."""
    known = {tag.name: tag for tag in before if tag.origin is Origin.SUBTREE}
    return tuple(_joined(known.get(tag.name), tag) for tag in after)


def _joined(before: SourceTag | None, after: SourceTag) -> SourceTag:
    if before is None:
        return after
    below = tuple(dict.fromkeys((*before.below, *after.below)))
    return replace(after, below=below, all_below=before.all_below and after.all_below)


EXECUTE_CMD = Builtin(
    "execute_cmd",
    "Runs a command with bash, in the working directory, and gives what it wrote to both of its streams, and its exit "
    "code. It can read nothing from a terminal. What it starts in the background ends with it. Of long output, the "
    "middle is left out.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command, as one would type it into bash."},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MOST_SECONDS,
                "description": f"The most seconds that it may take. Left out: {USUAL_SECONDS}.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    execute_cmd,
)
