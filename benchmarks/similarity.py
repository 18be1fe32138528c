"""Pairs a CPU second of sentence similarity and BERTScore, against the usual ways.

    python benchmarks/similarity.py [--pairs 256] [--rounds 2] [--model FOLDER]

Pairs of texts as long as open answers, with the packaged MiniLM unless a model is named. The peer
of the sentence similarity encodes one pair after the other. The peer of BERTScore is the bert-score
package where it is installed, and one pair after the other in any case. Models are loaded before;
results are compared first on a part of the pairs. All run on one thread of the CPU, in turns; what
counts is the processor's time, the best of the rounds, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np
import torch

from procedural_evals.encoders import SentenceEncoder, TokenEncoder, packaged_minilm
from procedural_evals.scores.similarity import bertscore, sentence_similarity

WORDS = (
    "the a of and is then before after tea cup wheel rear front cabin screw lens battery bowl egg"
    " whisked poured attached removed heated stirred visible ready because without into onto from"
    " clean dirty aligned loose tight open closed empty full person hand table video shows state"
)


def texts(pairs: int, seed: int) -> tuple[list[str], list[str]]:
    """Answers of 5 to 90 words, most of them near 30, and references with half of their words."""
    rng = np.random.default_rng(seed)
    words = np.array(WORDS.split())
    candidates, references = [], []
    for size in np.clip(rng.lognormal(3.4, 0.5, pairs).astype(int), 5, 90):
        sentence = rng.choice(words, size)
        candidates.append(" ".join(sentence))
        references.append(
            " ".join(np.where(rng.random(size) < 0.5, sentence, rng.choice(words, size)))
        )
    return candidates, references


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the work done once."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


Measure = Callable[[list[str], list[str]], object]


def contenders(model: str) -> dict[str, dict[str, Measure]]:
    """For each measure ours, then its peers."""
    sentences, tokens = SentenceEncoder(model, device="cpu"), TokenEncoder(model, device="cpu")
    found: dict[str, dict[str, Measure]] = {
        "sentence similarity": {
            "ours": lambda c, r: sentence_similarity(c, r, sentences),
            "one pair at a time": lambda c, r: [
                sentence_similarity([a], [b], sentences)[0] for a, b in zip(c, r, strict=True)
            ],
        },
        "BERTScore": {
            "ours": lambda c, r: bertscore(c, r, tokens).f1,
            "one pair at a time": lambda c, r: [
                bertscore([a], [b], tokens).f1[0] for a, b in zip(c, r, strict=True)
            ],
        },
    }
    if importlib.util.find_spec("bert_score"):
        from bert_score import BERTScorer

        scorer = BERTScorer(model_type=model, num_layers=tokens.layer, batch_size=64, device="cpu")
        found["BERTScore"]["bert-score package"] = lambda c, r: scorer.score(c, r)[2].numpy()
    print(tokens.name)
    return found


def main() -> None:
    """Compare results, time each, print pairs a second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--model", default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    candidates, references = texts(options.pairs, seed=0)
    for measure, works in contenders(options.model or str(packaged_minilm())).items():
        expected = works["ours"](candidates[:24], references[:24])
        spent = dict.fromkeys(works, float("inf"))
        for name, work in works.items():
            np.testing.assert_allclose(
                work(candidates[:24], references[:24]), expected, atol=1e-5, err_msg=name
            )
        for _ in range(options.rounds):
            for name, work in works.items():
                once = seconds(lambda work=work: work(candidates, references))
                spent[name] = min(spent[name], once)
        print(f"{measure}, {options.pairs} pairs")
        for name, cpu in spent.items():
            ratio = cpu / spent["ours"]
            print(f"  {name:<20} {options.pairs / cpu:7.0f} pairs/s   {ratio:4.2f} times our time")


if __name__ == "__main__":
    main()
