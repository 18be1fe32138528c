"""Arguments of a run as they may be shown: no keys, no passwords.

Keys are passed to models as arguments (`api_key=...`), in addresses and in headers, and lmms-eval
writes all arguments into its results files. What people read and pass on must not hold them.
"""

from __future__ import annotations

import re
from typing import Any

MASK = "***"
_NAME = r"[\w.-]*(?:key|token|secret|passw(?:or)?d|pwd|credential|authorization|cookie)s?"
_NAMED = re.compile(
    rf"(?P<name>{_NAME})"
    r"(?P<sign>[\"']?\s*[=:]\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^\s,&})\]]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(bearer|basic)\s+[^\s,\"'})\]]+", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
_SHAPES = re.compile(r"\b(?:hf_|sk-|gh[pousr]_|github_pat_|xox[abp]-|AIza|AKIA)[A-Za-z0-9_-]{12,}")


def is_secret(name: str) -> bool:
    """Whether a value of this name must not be shown.

    >>> is_secret("openai_api_key"), is_secret("max_new_tokens"), is_secret("tokenizer")
    (True, False, False)
    """
    return bool(re.fullmatch(_NAME, name, re.IGNORECASE)) and not _counts(name)


def without_secrets(arguments: Any) -> str:
    """Arguments of any shape as text, with `***` for what looks like a secret.

    >>> without_secrets("model_version=m,api_key=abc,base_url=https://ann:pw@host/v1,max_tokens=9")
    'model_version=m,api_key=***,base_url=https://host/v1,max_tokens=9'
    >>> without_secrets({"headers": {"Authorization": "Bearer abc"}})
    "{'headers': {'Authorization': ***}}"
    """
    text = _LOGIN.sub("", str(arguments))
    text = _NAMED.sub(_masked, _SCHEME.sub(rf"\1-{MASK}", text))
    return _SHAPES.sub(MASK, text)


def _masked(found: re.Match[str]) -> str:
    plain = found["value"].strip("\"'").casefold()
    if (_counts(found["name"]) and plain.isdigit()) or plain in ("true", "false", "none", "null"):
        return found[0]
    return f"{found['name']}{found['sign']}{MASK}"


def _counts(name: str) -> bool:
    """Tokens in the plural are counted."""
    return name.casefold().endswith("tokens")
