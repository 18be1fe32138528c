"""How close two texts are: cosine of sentence vectors, and BERTScore.

The models stand outside: an encoder turns texts into vectors (`procedural_evals.encoders` has them
for Hugging Face models), what happens to the vectors happens here.

BERTScore (Zhang et al., ICLR 2020): each token of the candidate is matched with the reference's
token of highest cosine similarity, and the other way round; precision is the weighted mean over the
candidate's tokens, recall over the reference's, F1 their harmonic mean. As in the authors'
`bert-score` package, special tokens can be matched but weigh nothing, and with several references
each of the three is the best over the references.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
References = Sequence[str | Sequence[str]]

SIMILARITY_VERSION = "1"


class BertScore(NamedTuple):
    """Precision, recall and F1 of each item [n], in [-1, 1]; rescaled values may lie below."""

    precision: Floats
    recall: Floats
    f1: Floats


class TokenModel(Protocol):
    """What BERTScore needs to know of a model."""

    special_ids: frozenset[int]

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, special tokens included."""

    def embed(self, ids: Sequence[Sequence[int]]) -> list[Vectors]:
        """A unit vector for each token of each text: [tokens, d]."""


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> Floats:
    """Cosine between the rows of a and b, both [n, d]: [n] in [-1, 1]; 0 for a row of zeros.

    >>> cosine_similarity([[1, 0], [3, 4]], [[0, 2], [3, 4]])
    array([0., 1.])
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if left.ndim != 2 or left.shape != right.shape:
        raise ValueError(f"vectors of shape {left.shape} and {right.shape}; two [n, d] are needed")
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    dots = np.einsum("nd,nd->n", left, right)
    cosines = np.divide(dots, lengths, out=np.zeros(len(dots)), where=lengths > 0)
    clipped: Floats = np.clip(cosines, -1, 1)
    return clipped


def inverse_document_frequency(documents: Iterable[Sequence[Hashable]]) -> dict[Hashable, float]:
    """log((N + 1) / (n + 1)) of each token that occurs in n of the N documents.

    >>> inverse_document_frequency([["a", "b"], ["a", "a"]])["a"]
    0.0
    """
    counts: Counter[Hashable] = Counter()
    n_documents = 0
    for document in documents:
        counts.update(set(document))
        n_documents += 1
    return {token: math.log((n_documents + 1) / (n + 1)) for token, n in counts.items()}


def _padded(rows: Sequence[Vectors]) -> Vectors:
    """[b, longest, d], zeros behind each text's tokens."""
    padded = np.zeros((len(rows), max(map(len, rows)), rows[0].shape[1]), np.float32)
    for row, tokens in zip(padded, rows, strict=True):
        row[: len(tokens)] = tokens
    return padded


def _weighted_means(values: NDArray[np.floating], weights: Sequence[Floats]) -> Floats:
    """Mean of the first len(w) values of each row with weights w; 0 where all weights are 0."""
    table = np.zeros(values.shape)
    for row, w in zip(table, weights, strict=True):
        row[: len(w)] = w
    totals = table.sum(axis=1)
    sums = (np.where(table > 0, values, 0.0) * table).sum(axis=1)
    means: Floats = np.divide(sums, totals, out=np.zeros(len(totals)), where=totals > 0)
    return means


def match_tokens(
    candidates: Sequence[Vectors],
    references: Sequence[Vectors],
    candidate_weights: Sequence[Floats],
    reference_weights: Sequence[Floats],
) -> BertScore:
    """BERTScore of n pairs of texts from unit token vectors [tokens, d] and weights [tokens].

    Every text needs at least one token. A side whose weights are all 0 scores 0.

    >>> a, b = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[:1]
    >>> score = match_tokens([a], [b], [np.ones(2)], [np.ones(1)])
    >>> score.precision[0], score.recall[0]
    (np.float64(0.5), np.float64(1.0))
    """
    similar = _padded(candidates) @ _padded(references).transpose(0, 2, 1)  # [n, c, r]
    n, c, r = similar.shape
    candidate_sizes = np.fromiter(map(len, candidates), np.int64, n)
    reference_sizes = np.fromiter(map(len, references), np.int64, n)
    similar[np.broadcast_to(np.arange(r) >= reference_sizes[:, None, None], (n, c, r))] = -np.inf
    best_for_candidate = similar.max(axis=2)
    similar[
        np.broadcast_to((np.arange(c) >= candidate_sizes[:, None])[..., None], (n, c, r))
    ] = -np.inf
    best_for_reference = similar.max(axis=1)
    precision = _weighted_means(best_for_candidate, candidate_weights)
    recall = _weighted_means(best_for_reference, reference_weights)
    return BertScore(precision, recall, harmonic_mean(precision, recall))


def harmonic_mean(a: Floats, b: Floats) -> Floats:
    """2ab / (a + b) of each pair [n]; 0 where the sum is 0."""
    total = a + b
    mean: Floats = np.divide(2 * a * b, total, out=np.zeros(len(a)), where=total != 0)
    return mean


def rescaled(scores: BertScore, baseline: Sequence[float]) -> BertScore:
    """(score - b) / (1 - b) with the baseline's own b for precision, recall and F1.

    >>> float(rescaled(BertScore(*[np.array([0.9])] * 3), (0.8, 0.5, 0.9)).recall[0])
    0.8
    """
    if len(baseline) != 3 or not all(0 <= b < 1 for b in baseline):
        raise ValueError(f"baseline: {baseline!r}; three numbers in [0, 1) are needed: P, R, F1")
    return BertScore(*((s - b) / (1 - b) for s, b in zip(scores, baseline, strict=True)))


class _Pairs(NamedTuple):
    """Every candidate beside each of its references; `item` [pairs] is the candidate's number."""

    candidates: list[str]
    references: list[str]
    item: Ints


def check_texts(candidates: Sequence[str], references: References) -> None:
    """Raise ValueError, with the item and its value, for what no similarity can be computed of."""
    for side, items in (("predictions", candidates), ("references", references)):
        if not isinstance(items, (list, tuple)):
            raise ValueError(f"{side}: {items!r:.80}; a list with one entry an item is needed")
    if len(candidates) != len(references):
        raise ValueError(
            f"{len(candidates)} predictions for {len(references)} references; give one an item"
        )
    if not len(references):
        raise ValueError("no items: a score needs at least one prediction with its reference")
    for number, (candidate, given) in enumerate(zip(candidates, references, strict=True)):
        if not isinstance(candidate, str):
            raise ValueError(f"predictions: item {number} is {candidate!r:.80}; a text is needed")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, (list, tuple)) or not texts:
            raise ValueError(
                f"references: item {number} is {given!r:.80}; a text or a list of texts is needed"
            )
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"references: item {number} holds {text!r:.80}; a text that is not empty is "
                    "needed"
                )


def blank_share(candidates: Sequence[str]) -> float:
    """Share of the n candidates that hold no text, in [0, 1].

    >>> blank_share(["yes", " "])
    0.5
    """
    return sum(not text.strip() for text in candidates) / len(candidates)


def _pairs(candidates: Sequence[str], references: References) -> _Pairs:
    check_texts(candidates, references)
    lists = [[given] if isinstance(given, str) else list(given) for given in references]
    return _Pairs(
        [c for c, texts in zip(candidates, lists, strict=True) for _ in texts],
        [text for texts in lists for text in texts],
        np.repeat(np.arange(len(lists)), list(map(len, lists))),
    )


def _best(values: Floats, pairs: _Pairs) -> Floats:
    """The highest value over each candidate's references; 0 for a candidate without any text."""
    starts = np.flatnonzero(np.diff(pairs.item, prepend=-1))
    best: Floats = np.maximum.reduceat(values, starts)
    blank = [not pairs.candidates[start].strip() for start in starts]
    return np.where(blank, 0.0, best)


def sentence_similarity(
    candidates: Sequence[str],
    references: References,
    encode: Callable[[list[str]], ArrayLike],
) -> Floats:
    """Cosine of the sentence vectors of each item: [n] in [-1, 1].

    A reference is a text or a list of texts, of which the closest counts. `encode` turns k texts
    into vectors [k, d]; every different text is encoded once. A candidate without any text scores
    0. Raises ValueError for an empty reference, which has nothing to be close to.
    """
    pairs = _pairs(candidates, references)
    texts = list(dict.fromkeys([*pairs.candidates, *pairs.references]))
    vectors = np.asarray(encode(texts))
    row = {text: number for number, text in enumerate(texts)}
    left = vectors[[row[text] for text in pairs.candidates]]
    right = vectors[[row[text] for text in pairs.references]]
    return _best(cosine_similarity(left, right), pairs)


def bertscore(
    candidates: Sequence[str],
    references: References,
    encoder: TokenModel,
    idf: bool = False,
    baseline: Sequence[float] | None = None,
    pairs_at_once: int = 256,
) -> BertScore:
    """BERTScore precision, recall and F1 of each item [n].

    With `idf` a token weighs its inverse document frequency among all references, else 1; special
    tokens weigh 0. `baseline` gives the (P, R, F1) that the scores are rescaled with. With several
    references each of the three is the best one's. A candidate without any text scores 0 before
    rescaling. Pairs of similar length are done together, `pairs_at_once` at a time, so that memory
    does not grow with n. Raises ValueError for an empty reference.
    """
    pairs = _pairs(candidates, references)
    texts = list(dict.fromkeys([*pairs.candidates, *pairs.references]))
    ids = dict(zip(texts, encoder.tokenize(texts), strict=True))
    frequency = inverse_document_frequency(ids[text] for text in pairs.references) if idf else None
    unseen = math.log(len(pairs.references) + 1) if idf else 1.0
    weights = {t: _weights(ids[t], frequency, unseen, encoder.special_ids) for t in texts}
    wordy = {t for t in texts if t.strip() and not encoder.special_ids.issuperset(ids[t])}

    both = list(zip(pairs.candidates, pairs.references, strict=True))
    sizes = np.array([len(ids[c]) + len(ids[r]) for c, r in both])
    # A text without tokens of its own matches nothing: its pairs keep their 0.
    order = np.argsort(sizes, kind="stable")
    order = order[[both[i][0] in wordy and both[i][1] in wordy for i in order]]
    scores = np.zeros((3, len(both)))
    for first in range(0, len(order), pairs_at_once):
        chosen = order[first : first + pairs_at_once]
        left = [pairs.candidates[i] for i in chosen]
        right = [pairs.references[i] for i in chosen]
        needed = sorted(dict.fromkeys(left + right), key=lambda text: len(ids[text]))
        vectors = dict(zip(needed, encoder.embed([ids[text] for text in needed]), strict=True))
        scores[:, chosen] = match_tokens(
            [vectors[text] for text in left],
            [vectors[text] for text in right],
            [weights[text] for text in left],
            [weights[text] for text in right],
        )
    found = BertScore(*(_best(row, pairs) for row in scores))
    return found if baseline is None else rescaled(found, baseline)


def _weights(
    ids: Sequence[int],
    frequency: Mapping[Hashable, float] | None,
    unseen: float,
    special: frozenset[int],
) -> Floats:
    known = frequency or {}
    return np.array([0.0 if i in special else known.get(i, unseen) for i in ids])


def similarity_id(
    measure: str,
    model: str,
    layer: int | None = None,
    idf: bool = False,
    baseline: Sequence[float] | None = None,
) -> str:
    """What a similarity was measured with; values of different ids cannot be compared.

    `measure` is "sentence" or "bertscore", `model` the name that the encoder gives itself.

    >>> similarity_id("sentence", "all-MiniLM-L6-v2")
    'sentence(model=all-MiniLM-L6-v2, version=1)'
    >>> similarity_id("bertscore", "roberta-large", layer=17)
    'bertscore(model=roberta-large, layer=17, idf=no, baseline=no, version=1)'
    """
    if measure == "sentence":
        return f"sentence(model={model}, version={SIMILARITY_VERSION})"
    if measure != "bertscore":
        raise ValueError(f"measure: {measure!r}; known are 'sentence' and 'bertscore'")
    base = "no" if baseline is None else "/".join(f"{b:g}" for b in baseline)
    return (
        f"bertscore(model={model}, layer={layer}, idf={'references' if idf else 'no'}, "
        f"baseline={base}, version={SIMILARITY_VERSION})"
    )
