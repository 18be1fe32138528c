"""How likely a transformers model is to reply by each of a few texts."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
from loguru import logger

from procedural_evals.harness.hf_media import Prompt

Inputs = Callable[[Sequence[Prompt], Sequence[str]], dict[str, Any]]


# By how much a score found from a kept prompt may differ from one found from the whole text.
_ABSOLUTE, _RELATIVE_HALF = 1e-3, 0.05


class ContinuationScores:
    """Scores continuations of prompts by one model.

    A prompt is read once; each continuation goes on from a copy of the model's attention cache. For
    the first prompt the whole text is read as well: where that gives another score, the model keeps
    no such cache as is needed, and every text is read as a whole from then on.

    Args:
        model: gives the transformers model, which is not held on to: lmms-eval frees it in the end.
        template: the chat template, applied to a conversation, with the reply begun.
        inputs: what the model takes for prompts and their templated texts.
        tokens: the token numbers of a templated text whose media are not filled in.
    """

    def __init__(
        self,
        model: Callable[[], Any],
        template: Callable[[list[dict[str, Any]]], str],
        inputs: Inputs,
        tokens: Callable[[str], list[int]],
    ) -> None:
        self._current = model
        self._template = template
        self._inputs = inputs
        self._tokens = tokens
        self._blank: dict[str, list[float]] = {}
        taken = inspect.signature(model().forward).parameters
        self._cache_name = "cache" if "cache" in taken else "past_key_values"
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in taken else {}
        self._goes_on: bool | None = None  # not known before the first prompt

    @property
    def _model(self) -> Any:
        return self._current()

    @torch.inference_mode()
    def scores(self, prompt: Prompt, continuations: Sequence[str]) -> list[tuple[float, int]]:
        """For each, the natural logarithm of its probability and its number of tokens."""
        begun = self._template(prompt.conversation)
        replies = [self._replied(begun, continuation) for continuation in continuations]
        if self._goes_on is None:
            self._goes_on = self._agrees(prompt, begun, continuations, replies)
        if self._goes_on:
            scores = self._going_on(prompt, begun, replies)
        else:
            scores = [self._from_whole(prompt, begun + each) for each in continuations]
        return [(score, len(reply)) for score, reply in zip(scores, replies, strict=True)]

    def _replied(self, begun: str, continuation: str) -> list[int]:
        """The continuation's tokens."""
        before, whole = self._tokens(begun), self._tokens(begun + continuation)
        if whole[: len(before)] != before or len(whole) == len(before):
            raise ValueError(f"continuation {continuation!r} has no tokens of its own")
        return whole[len(before) :]

    def _agrees(
        self, prompt: Prompt, begun: str, continuations: Sequence[str], replies: list[list[int]]
    ) -> bool:
        longest = max(range(len(replies)), key=lambda number: len(replies[number]))
        whole = self._from_whole(prompt, begun + continuations[longest])
        try:
            (score,) = self._going_on(prompt, begun, [replies[longest]])
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
            logger.warning(f"continuations are scored from the whole text each: {error}")
            return False
        allowed = _ABSOLUTE
        if self._model.dtype != torch.float32:
            allowed = max(1.0, abs(whole)) * _RELATIVE_HALF
        if abs(score - whole) > allowed:
            logger.warning(
                f"continuations are scored from the whole text each: {whole:.4f}, and going on "
                f"from the kept prompt {score:.4f}"
            )
        return abs(score - whole) <= allowed

    def _from_whole(self, prompt: Prompt, text: str) -> float:
        """The score of what a text adds to the prompt, from the text as a whole."""
        begun = self._template(prompt.conversation)
        length = self._inputs([prompt], [begun])["input_ids"].shape[1]
        inputs = self._inputs([prompt], [text])
        logits = self._model(**inputs).logits[0, length - 1 : -1]
        return _log_probability(logits, inputs["input_ids"][0, length:])

    def _going_on(self, prompt: Prompt, begun: str, replies: Sequence[list[int]]) -> list[float]:
        """The scores of replies, each from a copy of the cache after the prompt."""
        inner: Any = getattr(self._model, "model", None)
        if hasattr(inner, "rope_deltas"):
            inner.rope_deltas = None  # Qwen-VL's offset, which a prompt without media leaves as is
        inputs = self._inputs([prompt], [begun])
        read = self._model(**inputs, use_cache=True, **self._last_only)
        kept = getattr(read, self._cache_name)
        scores = []
        for reply in replies:
            tokens = torch.tensor([reply], device=read.logits.device)
            logits = read.logits[0, -1:]
            if len(reply) > 1:
                cache = {self._cache_name: copy.deepcopy(kept)}
                more = self._model(input_ids=tokens[:, :-1], use_cache=True, **cache).logits[0]
                logits = torch.cat([logits, more])
            scores.append(_log_probability(logits, tokens[0]))
        return scores

    def ranked(self, prompt: Prompt, continuations: tuple[str, ...]) -> str:
        """A JSON object with the texts, their `log_likelihoods`, and those on grey (`blank`).

        The scores on grey are found once for each text and size of the media.
        """
        sizes = [image.size for image in prompt.images], [video.shape for video in prompt.videos]
        shown = repr((prompt.conversation, sizes, prompt.metadata, continuations))
        if shown not in self._blank:
            self._blank[shown] = [s for s, _ in self.scores(prompt.greyed(), continuations)]
        reply = {
            "continuations": continuations,
            "log_likelihoods": [score for score, _ in self.scores(prompt, continuations)],
            "blank": self._blank[shown],
        }
        return json.dumps(reply)


def _log_probability(logits: torch.Tensor, tokens: torch.Tensor) -> float:
    """Of the tokens [n], by the logits [n, vocabulary] before each."""
    return float(logits.float().log_softmax(-1).gather(1, tokens[:, None]).sum())
