"""How the replies of a batch are generated: a task's settings, as transformers takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_MAX_NEW_TOKENS = 512
# Settings of a task that say how to generate; lmms-eval's other ones concern other models.
_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_DECODING = ("num_beams", "repetition_penalty", "no_repeat_ngram_size", "length_penalty")


@dataclass(frozen=True)
class Generation:
    """How the replies of a batch are generated."""

    arguments: tuple[tuple[str, Any], ...]
    """Of `model.generate`, sorted by name."""
    until: tuple[str, ...]
    """A reply ends before the first of these texts."""
    continuations: tuple[str, ...] = field(default=(), repr=False)
    """Nothing is generated: the reply says how likely each of these texts is (`_ranked`)."""

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], max_new_tokens: int | None = None
    ) -> Generation:
        r"""Read a task's generation_kwargs; `max_new_tokens` takes the place of the task's own.

        Greedy unless a temperature above 0, or do_sample without a temperature, asks for sampling.

        >>> Generation.from_settings({"max_new_tokens": 8, "temperature": 0, "until": "\n"})
        Generation(arguments=(('do_sample', False), ('max_new_tokens', 8)), until=('\n',))
        """
        if settings.get("num_return_sequences", 1) != 1:
            raise ValueError(
                f"num_return_sequences={settings['num_return_sequences']}: a request gets one "
                f"reply; set the task's `repeats` to ask several times"
            )
        temperature = settings.get("temperature")
        sample = temperature > 0 if temperature is not None else bool(settings.get("do_sample"))
        chosen = {name: settings[name] for name in _DECODING if settings.get(name) is not None}
        if sample:
            chosen |= {name: settings[name] for name in _SAMPLING if settings.get(name) is not None}
        limit = max_new_tokens or settings.get("max_new_tokens") or settings.get("max_gen_toks")
        chosen |= {"do_sample": sample, "max_new_tokens": int(limit or DEFAULT_MAX_NEW_TOKENS)}
        until = settings.get("until") or ()
        return cls(
            tuple(sorted(chosen.items())),
            (until,) if isinstance(until, str) else tuple(until),
            tuple(settings.get("continuations") or ()),
        )

    def ended(self, text: str) -> str:
        """The reply up to the first stop text."""
        ends = [text.find(stop) for stop in self.until if stop and stop in text]
        return text[: min(ends)] if ends else text

    @property
    def samples(self) -> bool:
        """Whether replies are drawn."""
        return bool(dict(self.arguments)["do_sample"])


def seed_of(*names: object) -> int:
    """A seed below 2^63 that depends on these names alone, in their order.

    >>> seed_of(0, "task", "item", 0) == seed_of(0, "task", "item", 0) != seed_of(0, "task", "i", 0)
    True
    """
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
