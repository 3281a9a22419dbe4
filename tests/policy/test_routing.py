"""Which provider the model proxy sends a model's requests to, and what is wrong with a policy that says otherwise."""

from __future__ import annotations

import re

import pytest

from stanch.policy.building import build
from stanch.policy.document import Policy, parse
from stanch.policy.providers import Dialect
from stanch.policy.routing import routed
from stanch.values.fault import NotFound

HOUSE = """
version = 1
[providers.house]
dialect = "openai"
base_url = "http://127.0.0.1:1/v1"
[providers.claude]
dialect = "anthropic"
base_url = "http://127.0.0.1:1"
[proxy.models]
"qwen*" = "house"
"qwen-max*" = "openai"
"meta-llama/*" = "house"
"openai/*" = "house"
[proxy.usual]
openai = "house"
"""


def policy_of(text: str) -> Policy:
    return build(parse(text, "stanch.toml"), workspace="/repo", home="/home/dev")


@pytest.mark.parametrize(
    ("model", "asked", "to"),
    [
        ("qwen3", Dialect.CHAT, "house/qwen3"),
        ("qwen-max-1", Dialect.RESPONSES, "openai/qwen-max-1"),
        ("other", Dialect.CHAT, "house/other"),
        ("other", Dialect.RESPONSES, "openai/other"),
        ("other", Dialect.ANTHROPIC, "anthropic/other"),
        ("claude/x", Dialect.ANTHROPIC, "claude/x"),
        ("house/a/b", Dialect.CHAT, "house/a/b"),
        ("meta-llama/x", Dialect.CHAT, "house/meta-llama/x"),
        # A provider that is there goes before any pattern: nobody takes its name for another.
        ("openai/gpt", Dialect.CHAT, "openai/gpt"),
    ],
)
def test_where_a_model_is_asked(model: str, asked: Dialect, to: str) -> None:
    policy = policy_of(HOUSE)
    assert policy.problems == ()
    assert routed(model, asked, policy.proxying, policy.providers).model == to


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("nowhere/x", Dialect.CHAT),
        ("claude/x", Dialect.CHAT),
        ("house/x", Dialect.ANTHROPIC),
        ("qwen3", Dialect.ANTHROPIC),
        ("qwen*", Dialect.CHAT),
        ("house/", Dialect.CHAT),
        ("", Dialect.CHAT),
    ],
)
def test_models_that_lead_nowhere(model: str, asked: Dialect) -> None:
    policy = policy_of(HOUSE)
    with pytest.raises(NotFound, match=re.escape(repr(model)) if model else "no such model"):
        routed(model, asked, policy.proxying, policy.providers)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('"x*" = "nowhere"', "there is no provider 'nowhere'"),
        ('"/x" = "house"', "fits no model"),
        ('"a*b*" = "house"\n"a*c*" = "openai"', "fit the same models"),
        ('[proxy.usual]\nanthropic = "house"', "does not speak this API"),
        ('[proxy.usual]\nanthropic = "nowhere"', "there is no provider 'nowhere'"),
        ('[proxy.usual]\nclaude = "house"', "unknown key 'claude' (known: openai, openai-responses, anthropic)"),
        ("[proxy]\nstores = true", "unknown key 'stores'; did you mean 'store'"),
        ('[proxy]\nstore = "yes"', "'store' must be true or false"),
    ],
)
def test_mistakes_stop_the_proxy_and_no_rule(more: str, says: str) -> None:
    head, _, _ = HOUSE.partition("[proxy.models]")
    policy = policy_of(head + (more if more.startswith("[") else f"[proxy.models]\n{more}"))
    assert any(says in problem.message for problem in policy.problems), policy.problems
    assert policy.broken_runtime is not None
    assert policy.broken is None
