"""The four trust tiers that are there without being written, in the shape of the policy file.

Settles what they say. One of the same id in a policy file replaces the shipped one whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stanch.values.call import EffectClass

PLACE = "shipped"
# Where keys and passwords usually lie. Longer names of a kind first belong to the tools that make them.
KEY_FILES = (
    "/**/secrets", "/**/.env*", "/**/*.pem", "/**/*.key", "/**/*.p12", "/**/*.pfx", "/**/*.jks", "/**/*.keystore",
    "/**/*.kdbx", "/**/id_rsa", "/**/id_dsa", "/**/id_ecdsa", "/**/id_ed25519", "/**/.ssh", "/**/.gnupg", "/**/.aws",
    "/**/.netrc", "/**/.pgpass", "/**/.npmrc", "/**/.pypirc", "/**/.git-credentials", "/**/.docker/config.json",
    "/**/.kube/config",
)  # fmt: skip


def _all(word: str, **others: str) -> dict[str, str]:
    return {cls.value: word for cls in EffectClass} | others


TIERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "trusted": {"label": "Trusted", "otherwise": _all("allow")},
        "limited": {
            "label": "Limited",
            "otherwise": _all("deny", read="allow"),
            "cells": [{"path": path, "read": "deny"} for path in KEY_FILES],
        },
        "untrusted": {
            "label": "Untrusted",
            "otherwise": _all("deny"),
            "cells": [{"path": "public", "read": "allow"}],
        },
        "unassigned": {"label": "Unassigned", "otherwise": _all("ask")},
    }
)
