"""The process that makes documents: what a hostile template, picture or document comes to in it."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from PIL import Image

from stanch.content import compile_process
from stanch.content.compile_process import Made, made
from stanch.content.compile_template import Problem, Uncompiled


class Files:
    """Stored files, and which of them were read."""

    def __init__(self, **texts: str) -> None:
        self.texts = {name.replace("__", "."): text for name, text in texts.items()}
        self.read: list[tuple[str, str]] = []

    def __call__(self, kind: str, path: str) -> Mapping[str, Any]:
        self.read.append((kind, path))
        return {"path": path, "text": self.texts[path], "held": {}} if path in self.texts else {}


def job(
    text: str, *, shape: str = "html", form: str = "markdown", template: bool = True, **values: Any
) -> dict[str, Any]:
    told: dict[str, Any] = {"shape": shape, "form": form, "path": "a.md.j2", "text": text, "template": template}
    return {**told, "held": {}, "values": values, "made_at": "2026-01-02T03:04:05+00:00"}


def make(text: str, files: Files | None = None, *, seconds: float = 30.0, **more: Any) -> Made:
    return made(job(text, **more), files or Files(), threading.Event(), seconds)


def problem(text: str, files: Files | None = None, *, seconds: float = 30.0, **more: Any) -> Uncompiled:
    with pytest.raises(Uncompiled) as raised:
        make(text, files, seconds=seconds, **more)
    return raised.value


def test_a_template_reads_what_it_comes_to_and_nothing_else() -> None:
    files = Files(x__md="*x*", y__md="y")
    text = "{{ include(name ~ '.md') }}{% if name == 'y' %}{{ include('y.md') }}{% endif %}{% set z = text('y.md') %}"
    assert b"<em>x</em>" in make(text, files, name="x").data
    assert files.read == [("include", "x.md")]


def test_the_same_document_has_the_same_bytes() -> None:
    for shape in ("html", "pdf"):
        text = "# T\n\n{{ text('x.md') }}{{ include('x.md') }}"
        assert len({make(text, Files(x__md="x"), shape=shape).data for _ in range(2)}) == 1


def test_a_template_cannot_look_into_what_it_includes() -> None:
    """It holds a mark, from which nothing can be cut, compared or spelled out."""
    secret = "a-value-that-nobody-spells-out"
    spelled = (
        "{% set t = text('s') %}{{ t[0:4] }} {{ t|length }} {{ 'yes' if 'value' in t else 'no' }} {{ t|upper }} "
        "{% for c in t %}{{ c }}.{% endfor %} {{ t|reverse }}"
    )
    files = Files(s=secret)
    data = make(spelled, files).data
    assert files.read == []
    assert b"no" in data
    assert not any(piece in data for piece in (b"a-v", b"VALUE", b"eulav", b"v.a.l.u.e"))


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ().__class__.__bases__[0].__subclasses__() }}",
        "{{ '{0.__class__.__mro__}'.format(1) }}",
        "{{ '{0.__class__}'.format_map({'0': 1}) }}",
        "{{ include.__globals__ }}",
        "{{ include.__defaults__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ ''|attr('__class__') }}",
        "{{ [1]|map(attribute='__class__')|first }}",
        "{{ lipsum.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends '/etc/passwd' %}",
        "{{ range(10**9)|list }}",
        "{{ [].append(1) }}{{ {}.update({'a': 1}) }}",
        "{{ nowhere }}",
        "{% for x in %}",
        "{{ 1 / 0 }}",
        "{{ include(7) }}",
    ],
)
def test_a_template_does_not_get_out(text: str) -> None:
    why = problem(f"\n{text}")
    assert why.problem in (Problem.FORBIDDEN, Problem.UNDEFINED, Problem.SYNTAX, Problem.FAILED)
    assert (why.path, why.line) == ("a.md.j2", 2)


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 10 ** (10 ** 9) }}",
        "{{ 'a' * 10 ** 11 }}",
        "{% for a in range(99999) %}{{ 'a' * 10000 }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ '%99999999999d'|format(1) }}",
    ],
)
def test_a_template_without_end_is_ended(text: str) -> None:
    start = time.monotonic()
    assert problem(text, seconds=3).problem in (Problem.TOO_LONG, Problem.TOO_LARGE, Problem.FAILED)
    assert time.monotonic() - start < 20


def test_what_includes_itself_or_grows_without_end_is_refused() -> None:
    assert problem("{{ include('b.md.j2') }}", Files(b__md__j2="{{ include('a.md.j2') }}", a__md__j2="")).problem is (
        Problem.TOO_DEEP
    )
    deep = Files(**{f"d{n}__md__j2": f"{{{{ include('d{n + 1}.md.j2') }}}}" for n in range(20)})
    assert problem("{{ include('d0.md.j2') }}", deep).problem is Problem.TOO_DEEP
    laughs = Files(**{f"d{n}__md__j2": f"{{{{ include('d{n + 1}.md.j2') }}}}" * 20 for n in range(6)}, d6__md__j2="ha")
    assert problem("{{ include('d0.md.j2') }}", laughs).problem is Problem.TOO_LARGE
    large = Files(x__md="x" * 1_000_000)
    assert problem("{% for i in range(99) %}{{ include('x.md') }}{% endfor %}", large).problem is Problem.TOO_LARGE


def test_what_is_included_is_no_template_by_what_is_in_it() -> None:
    assert b"{{ 7 * 7 }}" in make("{{ include('x.md') }}", Files(x__md="{{ 7 * 7 }}")).data
    assert b"{{ 7 * 7 }}" in make("{{ 7 * 7 }}", template=False).data


def test_nobody_waits_for_it_any_more() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Uncompiled) as raised:
        made(job("x"), Files(), cancelled)
    assert raised.value.problem is Problem.CANCELLED


def test_a_fault_while_it_is_answered_ends_it() -> None:
    def refusing(_kind: str, _path: str) -> Mapping[str, Any]:
        raise LookupError

    with pytest.raises(LookupError):
        made(job("{{ text('x') }}"), refusing, threading.Event())


def test_the_process_opens_nothing_of_the_machine() -> None:
    tries = """
import json, os, socket, subprocess, sys
from stanch.content.compile_alone import _limited
_limited()
held = []
for one in (lambda: open('/etc/passwd'), lambda: open('/tmp/x', 'w'), lambda: socket.socket(),
            lambda: subprocess.Popen(['/bin/true']), lambda: os.system('true'), lambda: os.fork(),
            lambda: socket.getaddrinfo('localhost', 1), lambda: open(os.path.join(sys.prefix, '..', '..', 'x'))):
    try:
        one()
        held.append(False)
    except PermissionError:
        held.append(True)
print(json.dumps(held))
"""
    said = subprocess.run([sys.executable, "-I", "-c", tries], capture_output=True, check=True)
    assert json.loads(said.stdout) == [True] * 8


def test_a_picture_is_shown_by_what_is_in_it() -> None:
    out = io.BytesIO()
    Image.new("RGB", (40, 20)).save(out, "GIF")
    made_of = {"shape": "picture", "data": base64.b64encode(out.getvalue() + b"<script>").decode(), "width": None}
    assert made(made_of, Files(), threading.Event()).told["type"] == "image/gif"
    small = made({**made_of, "width": 20}, Files(), threading.Event())
    assert (small.told["type"], Image.open(io.BytesIO(small.data)).size) == ("image/png", (20, 10))
    assert b"<script>" not in small.data


def test_who_waits_for_a_turn_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_process, "_AT_ONCE", threading.BoundedSemaphore(1))
    with compile_process._turn(threading.Event(), 1.0):
        assert problem("x", seconds=0.2).problem is Problem.TOO_LONG
        nobody = threading.Event()
        nobody.set()
        with pytest.raises(Uncompiled) as raised:
            made(job("x"), Files(), nobody, 30.0)
        assert raised.value.problem is Problem.CANCELLED
    assert b"x" in make("x").data
