"""Pairs a second of sentence similarity and BERTScore, against the usual ways.

    python benchmarks/similarity.py [--pairs 512] [--model FOLDER]

Pairs of texts as long as open answers, with the packaged MiniLM unless a model is named. The peer
of the sentence similarity encodes one pair after the other. The peer of BERTScore is the bert-score
package where it is installed, and one pair after the other in any case. Models are loaded before;
results are compared first on a part of the pairs.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np

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
    """How long the work takes once."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """Compare results, time each, print pairs a second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=512)
    parser.add_argument("--model", default=None)
    options = parser.parse_args()
    model = options.model or str(packaged_minilm())
    candidates, references = texts(options.pairs, seed=0)
    some = (candidates[:24], references[:24])
    sentences, tokens = SentenceEncoder(model), TokenEncoder(model)

    def one_sentence_pair_at_a_time(c: list[str], r: list[str]) -> list[float]:
        return [sentence_similarity([a], [b], sentences)[0] for a, b in zip(c, r, strict=True)]

    def one_pair_at_a_time(c: list[str], r: list[str]) -> list[float]:
        return [bertscore([a], [b], tokens).f1[0] for a, b in zip(c, r, strict=True)]

    ours = {
        "sentence similarity": lambda c, r: sentence_similarity(c, r, sentences),
        "BERTScore": lambda c, r: bertscore(c, r, tokens).f1,
    }
    peers = {
        "sentence similarity": {"one pair at a time": one_sentence_pair_at_a_time},
        "BERTScore": {"one pair at a time": one_pair_at_a_time},
    }
    if importlib.util.find_spec("bert_score"):
        from bert_score import BERTScorer

        scorer = BERTScorer(model_type=model, num_layers=tokens.layer, batch_size=64)
        peers["BERTScore"]["bert-score package"] = lambda c, r: scorer.score(c, r)[2].numpy()

    print(f"{options.pairs} pairs, {tokens.name}")
    for name, work in ours.items():
        expected = work(*some)
        spent = seconds(lambda work=work: work(candidates, references))
        print(f"  {name:<20} ours                {options.pairs / spent:8.0f} pairs/s")
        for peer, peer_work in peers[name].items():
            np.testing.assert_allclose(peer_work(*some), expected, atol=1e-5)
            peers_time = seconds(lambda peer_work=peer_work: peer_work(candidates, references))
            rate, ratio = options.pairs / peers_time, peers_time / spent
            print(f"  {'':<20} {peer:<19} {rate:8.0f} pairs/s   ours {ratio:4.1f} times as fast")


if __name__ == "__main__":
    main()
