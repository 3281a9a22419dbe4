"""What a provider keeps, or fetches, by itself: what of it a request may name.

Settles which references, tools and settings slip past a filter that works on what is sent, and what becomes of each:
refused, taken out or turned off. Under a tier that objects to no reading all of it passes. Does not settle what of the
messages is sent (`tiers.history`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stanch.tiers.tier import Tier
from stanch.values.call import EffectClass
from stanch.values.decision import Effect

# Each leads to content that was left with the provider before, under whatever tier that was.
_REFERENCES = ("previous_response_id", "conversation", "prompt", "container", "mcp_servers", "background")
_ENDINGS = ("_id", "_ids")
_NO_REFERENCES = ("session_id", "trace_id", "request_id", "user_id")
# The model may become another one inside of the provider.
_OTHER_MODELS = (
    *("fallbacks", "fallback", "fallback_models", "models", "context_window_fallbacks", "content_policy_fallbacks"),
    *("preset", "api_base", "base_url"),
)
_INSIDE = ("file_id", "file_ids", "container_id", "vector_store_ids")
_KINDS = ("item_reference", "container_upload")
# What a client's own tool is given, and what a provider says of where its words are from, name nothing that is kept.
_NOT_INSIDE = ("input", "arguments", "annotations", "action", "operation")
_SEARCHES = ("web_search", "web_fetch")
_HOSTED = ("bash_code_execution", "text_editor_code_execution")
LONGEST_KIND = 100
# What clients run themselves, and what only says which tools there are. WHY a list: there are new kinds every month.
_CLIENTS = (
    *("function", "custom", "namespace", "tool_search", "computer", "local_shell", "shell", "apply_patch"),
    *("bash_", "text_editor_", "memory_"),
)
_SEARCHING = ("web_search_options", "search_parameters", "enable_search")
STORE, CACHE_KEY = "store", "prompt_cache_key"


class Kept(NamedTuple):
    """What becomes of a request: `refused` says why it is not sent, else `changes` are the keys that are others."""

    refused: str | None
    changes: Mapping[str, Any]


def kept_by_provider(
    body: Mapping[str, Any],
    tier: Tier,
    *,
    counted: bool,
    stores: bool,
    may_store: bool,
    inside: str | None,
    objects: Callable[[str], bool],
) -> Kept:
    """What becomes of what a request says besides its messages.

    `counted`: nothing is answered, tokens are counted. `stores`: the provider stores what it is not told to leave, and
    `may_store` that the policy lets it. `inside` names a reference that the messages hold. `objects` says of another
    model's name whether its tier objects to any reading, or is unknown.
    """
    changes: dict[str, Any] = {}
    if not may_store and not counted and (stores or body.get(STORE)) and body.get(STORE) is not False:
        changes[STORE] = False
    others = [key for key in _OTHER_MODELS if body.get(key)]
    closed = tier.objects(EffectClass.READ)
    for key in others:
        names = list(_names(body[key]))
        if closed or not names or any(map(objects, names)):
            return Kept(_why(f"'{key}' lets the provider go on with another model", tier), {})
    if not closed:
        return Kept(None, changes)
    reference = next((key for key in body if body[key] and _is_reference(key)), inside)
    if reference is not None:
        return Kept(_why(f"'{reference}' names content that the provider keeps", tier), {})
    tools = body.get("tools")
    if isinstance(tools, list):
        left, refused = _tools(tools, tier)
        if refused is not None:
            return Kept(_why(f"the tool '{refused}' is run by the provider", tier), {})
        if len(left) != len(tools):
            changes["tools"] = left
    search = next((key for key in _SEARCHING if body.get(key) not in (None, False)), None) or _plugin(body)
    if search is not None and not _may_search(tier):
        return Kept(_why(f"'{search}' has the provider search the web", tier), {})
    if body.get("prediction") is not None:
        # WHY: it is the text of a file as the client has it, and only there to save time.
        changes["prediction"] = None
    cached = body.get(CACHE_KEY)
    if isinstance(cached, str) and cached:
        changes[CACHE_KEY] = hashlib.sha256(f"{tier.id}\0{cached}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Kept(None, changes)


def reference_in(items: Iterable[Any]) -> str | None:
    """The first thing in these messages that names content which the provider keeps; None where nothing does."""
    todo = list(items)
    while todo:
        here = todo.pop()
        if isinstance(here, list):
            todo += here
        if not isinstance(here, dict):
            continue
        kind = here.get("type")
        if kind in _KINDS or (kind is None and "role" not in here and isinstance(here.get("id"), str)):
            return str(kind or _KINDS[0])
        named: str | None = next((key for key in _INSIDE if here.get(key)), None)
        audio = here.get("audio")
        if named is not None or (isinstance(audio, dict) and audio.get("id")):
            return named or "audio"
        todo += [value for key, value in here.items() if isinstance(value, (dict, list)) and key not in _NOT_INSIDE]
    return None


def _is_reference(key: str) -> bool:
    return key in _REFERENCES or (key.endswith(_ENDINGS) and key not in _NO_REFERENCES)


def _names(value: Any) -> Iterator[str]:
    """The models that a setting names: strings, or tables with a `model`."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict) and isinstance(one.get("model"), str):
            yield one["model"]
        else:
            yield ""


def _tools(tools: list[Any], tier: Tier) -> tuple[list[Any], str | None]:
    """The tools that stay, and one for which the request is refused.

    WHY a search is taken out: agents offer it in every request, whether their model needs it or not.
    """
    left = []
    for tool in tools:
        kind = _kind(tool)
        if kind.startswith(_SEARCHES):
            if _may_search(tier):
                left.append(tool)
            continue
        in_container = kind in ("shell", "local_shell") and _is_hosted(tool)
        if in_container or not kind.startswith(_CLIENTS) or kind.startswith(_HOSTED):
            return [], kind[:LONGEST_KIND]
        if kind == "namespace" and isinstance(tool.get("tools"), list):
            inner, refused = _tools(tool["tools"], tier)
            if refused is not None or len(inner) != len(tool["tools"]):
                return [], refused or _SEARCHES[0]
        left.append(tool)
    searches = len(tools) - len(left)
    return (left, None) if left or not searches else ([], _SEARCHES[0])


def _kind(tool: Any) -> str:
    """The kind of a tool; a plain one of a client's own does not have to say it."""
    if not isinstance(tool, dict):
        return "?"
    kind = tool.get("type")
    if isinstance(kind, str) and kind:
        return kind
    return "custom" if kind is None and isinstance(tool.get("name"), str) else next(iter(tool), "?")


def _plugin(body: Mapping[str, Any]) -> str | None:
    """The plugin of the provider's that searches the web."""
    plugins = body.get("plugins")
    named = [one.get("id") for one in plugins if isinstance(one, dict)] if isinstance(plugins, list) else []
    return "plugins" if any(isinstance(one, str) and one.startswith("web") for one in named) else None


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    """True for a shell in a container of the provider's."""
    place = tool.get("environment")
    return isinstance(place, dict) and place.get("type") not in (None, "local")


def _may_search(tier: Tier) -> bool:
    return tier.says(EffectClass.NETWORK, None).effect is Effect.ALLOW


def _why(what: str, tier: Tier) -> str:
    return f'{what}, which may be more than the trust tier "{tier.label}" lets this model read; send it without'
