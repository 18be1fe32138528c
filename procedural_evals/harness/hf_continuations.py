"""How likely a transformers model is to reply by each of a few texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from procedural_evals.harness.hf_media import Prompt

Inputs = Callable[[Sequence[Prompt], Sequence[str]], dict[str, Any]]


class ContinuationScores:
    """Scores continuations of prompts by one model.

    Args:
        model: of transformers.
        template: the chat template, applied to a conversation, with the reply begun.
        inputs: what the model takes for prompts and their templated texts.
    """

    def __init__(
        self, model: Any, template: Callable[[list[dict[str, Any]]], str], inputs: Inputs
    ) -> None:
        self._model = model
        self._template = template
        self._inputs = inputs
        self._blank: dict[str, list[float]] = {}

    @torch.inference_mode()
    def scores(self, prompt: Prompt, continuations: Sequence[str]) -> list[tuple[float, int]]:
        """For each, the natural logarithm of its probability and its number of tokens."""
        begun = self._template(prompt.conversation)
        length = self._inputs([prompt], [begun])["input_ids"].shape[1]
        scores = []
        for continuation in continuations:
            inputs = self._inputs([prompt], [begun + continuation])
            replied = inputs["input_ids"][0, length:]
            logits = self._model(**inputs).logits[0, length - 1 : -1].float()
            log_probabilities = logits.log_softmax(-1).gather(1, replied[:, None])
            scores.append((float(log_probabilities.sum()), len(replied)))
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
