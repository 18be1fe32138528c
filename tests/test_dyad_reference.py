"""Reference systems out of fold: parity, no leak, order, storage and strict scoring."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from procedural_evals.dyad import __main__ as command
from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.features import (
    MetadataFeatures,
    PastEvent,
    metadata_features,
    past_events,
)
from procedural_evals.dyad.logistic import fit
from procedural_evals.dyad.mode_scores import (
    ModePrediction,
    compare_modes,
    read_predictions,
    score_mode,
    write_predictions,
)
from procedural_evals.dyad.reference_systems import SYSTEMS
from procedural_evals.dyad.windows import mode_manifest
from tests.dyad_export import write_export


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyad")
    write_export(root, sessions=20)
    return root


@pytest.fixture(scope="module")
def corpus(export):
    return load_corpus(export)


@pytest.fixture(scope="module")
def manifest(corpus):
    return mode_manifest(corpus)


@pytest.fixture(scope="module")
def answers(corpus, manifest):
    return {name: system(corpus, manifest) for name, system in SYSTEMS.items()}


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_regression_is_scikit_learns(seed, strength):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 6)) * [1, 10, 100, 0.1, 1, 5] + [0, 5, -300, 0, 1, 2]
    rows[:, 4] = rows[:, 0] * 2  # one feature is another one's double
    truth = rows[:, 0] + rng.normal(size=200) > 0.8
    ours = fit(rows, truth, strength)
    scaled = StandardScaler().fit_transform(rows)
    peer = LogisticRegression(C=strength, class_weight="balanced", tol=1e-10, max_iter=10_000)
    peer.fit(scaled, truth)
    assert ours.weights == pytest.approx(peer.coef_[0], abs=1e-5)
    assert ours.intercept == pytest.approx(peer.intercept_[0], abs=1e-5)
    assert ours.probabilities(rows) == pytest.approx(peer.predict_proba(scaled)[:, 1], abs=1e-5)


def test_a_constant_feature_and_separable_classes_are_no_trouble():
    rows = np.column_stack((np.ones(20), np.arange(20.0)))
    truth = np.arange(20) >= 10
    model = fit(rows, truth, strength=1e4)
    assert np.isfinite(model.weights).all()
    assert ((model.probabilities(rows) > 0.5) == truth).all()


@pytest.mark.parametrize(
    ("rows", "truth", "strength", "message"),
    [
        ([[1.0], [2.0]], [True, True], 1.0, "2 of 2 rows are positive"),
        ([[1.0], [np.nan]], [True, False], 1.0, "finite"),
        ([[1.0], [2.0]], [True], 1.0, "one truth a row"),
        ([[1.0], [2.0]], [True, False], 0.0, "strength"),
    ],
)
def test_a_regression_that_cannot_be_fitted_says_why(rows, truth, strength, message):
    with pytest.raises(ValueError, match=message):
        fit(rows, truth, strength)


def test_features_count_what_is_past():
    past = [PastEvent(10.0, "verbal"), PastEvent(50.0, "physical"), PastEvent(95.0, None)]
    found = metadata_features(100.0, past, usual_duration=80.0)
    assert found == MetadataFeatures(100.0, 1.0, 3, 1, 1, 2)
    with pytest.raises(ValueError, match=r"event at 95\.0 s is not before the boundary 95\.0"):
        metadata_features(95.0, past, 80.0)
    with pytest.raises(ValueError, match="usual_duration"):
        metadata_features(100.0, past, 0.0)


def test_features_have_no_field_for_anything_withheld():
    fields = [field.name for field in dataclasses.fields(MetadataFeatures)]
    assert len(fields) == 6
    assert [field.name for field in dataclasses.fields(PastEvent)] == ["onset", "mode"]


def test_what_is_withheld_or_yet_to_come_does_not_move_a_feature(corpus, manifest):
    for example in manifest.examples[::17]:
        session = corpus.session(example.session)
        boundary = example.end
        before = metadata_features(boundary, past_events(session, boundary), 300.0)
        changed = dataclasses.replace(
            session,
            participant="somebody else",
            steps=(),
            requests=(),
            frame_times=session.frame_times[session.frame_times < boundary],
            assistance=tuple(
                dataclasses.replace(
                    event,
                    trigger=None,
                    initiation=None,
                    outcome="unnecessary",
                    utterance="words",
                    hard_stop=None,
                    objects=None,
                    mode=event.mode if (event.start or 1e9) < boundary else "physical",
                )
                for event in session.assistance
            ),
        )
        assert metadata_features(boundary, past_events(changed, boundary), 300.0) == before


def test_a_predicted_event_is_unknown_to_the_model_that_predicts_it(corpus, manifest, answers):
    """Turn the labels of one fold's test participants around: its predictions stay."""
    fold = manifest.folds[1]
    flipped = {"verbal": "physical", "physical": "verbal"}
    examples = tuple(
        dataclasses.replace(e, mode=flipped[e.mode]) if e.participant in fold.test else e
        for e in manifest.examples
    )
    other = dataclasses.replace(manifest, examples=examples)
    for name in ("majority", "metadata"):
        before = {p.event_id: (p.prediction, p.score) for p in answers[name] if p.fold == 1}
        after = {
            p.event_id: (p.prediction, p.score) for p in SYSTEMS[name](corpus, other) if p.fold == 1
        }
        assert after == before


def test_the_rows_come_in_the_published_order(manifest, answers):
    scores = {name: score_mode(found, manifest) for name, found in answers.items()}
    f1 = {name: found.over_seeds["macro_f1"].mean for name, found in scores.items()}
    assert f1["trigger_mapping"] > f1["metadata"] > f1["majority"]
    modes = [example.mode for example in manifest.examples]
    share = modes.count("physical") / len(modes)
    assert scores["majority"].over_seeds["auprc"].mean == pytest.approx(share)
    assert scores["metadata"].over_seeds["auprc"].mean > share
    expected = f1_score(modes, ["verbal"] * len(modes), average="macro")
    assert f1["majority"] == pytest.approx(expected)
    assert scores["majority"].events == len(modes)


def test_the_trigger_mapping_says_physical_for_reach_and_stabilisation(corpus, answers):
    triggers = {e.id: e.trigger for s in corpus.sessions for e in s.assistance}
    for prediction in answers["trigger_mapping"]:
        physical = triggers[prediction.event_id] in ("out_of_reach", "stabilization_needed")
        assert prediction.prediction == ("physical" if physical else "verbal")


def test_predictions_come_back_from_their_file(tmp_path, answers):
    path = tmp_path / "metadata.jsonl"
    write_predictions(path, answers["metadata"])
    assert read_predictions(path) == answers["metadata"]
    # Another tool may write U+2028 as it is, which is no end of a line.
    text = path.read_text(encoding="utf-8")
    first = answers["metadata"][0].event_id
    path.write_text(text.replace(first, f"{first}\u2028"), encoding="utf-8")
    assert f"{first}\u2028" in [prediction.event_id for prediction in read_predictions(path)]
    path.write_text(text, encoding="utf-8")
    path.write_text(path.read_text() + '{"event_id": "x"}\n')
    with pytest.raises(ValueError, match=rf"metadata\.jsonl:{len(answers['metadata']) + 1}: an"):
        read_predictions(path)


def test_every_eligible_event_is_demanded_exactly_once(manifest, answers):
    good = answers["metadata"]
    first = good[0].event_id

    def scored(predictions):
        return score_mode(predictions, manifest, draws=10)

    with pytest.raises(ValueError, match=f"1 events missing from seed 0: {first}"):
        scored(good[1:])
    with pytest.raises(ValueError, match=f"1 events twice: {first}"):
        scored([*good, good[0]])
    strange = dataclasses.replace(good[0], event_id="s99-assistance-0000001")
    with pytest.raises(ValueError, match="1 events not eligible: s99-assistance-0000001"):
        scored([*good, strange])
    wrong_fold = dataclasses.replace(good[0], fold=(good[0].fold + 1) % 5)
    with pytest.raises(ValueError, match=rf"does not test them: {first} \(of fold"):
        scored([wrong_fold, *good[1:]])
    other = "physical" if good[0].label == "verbal" else "verbal"
    with pytest.raises(ValueError, match=f"another label than the manifest's: {first}"):
        scored([dataclasses.replace(good[0], label=other), *good[1:]])
    with pytest.raises(ValueError, match="no mode or no finite score"):
        scored([dataclasses.replace(good[0], score=float("nan")), *good[1:]])
    with pytest.raises(ValueError, match=r"events missing from seed 0: .*, \.\.\."):
        scored(good[20:])
    with pytest.raises(ValueError, match="0 predictions"):
        scored([])


def test_several_seeds_are_averaged_with_their_sample_deviation(manifest, answers):
    seeds = [
        dataclasses.replace(prediction, seed=seed)
        for seed, name in ((0, "majority"), (1, "metadata"))
        for prediction in answers[name]
    ]
    found = score_mode(seeds, manifest, draws=20)
    values = [found.by_seed[seed]["macro_f1"].mean for seed in (0, 1)]
    assert found.over_seeds["macro_f1"].mean == pytest.approx(np.mean(values))
    assert found.over_seeds["macro_f1"].std == pytest.approx(np.std(values, ddof=1))


def test_no_answer_is_wrong_and_counted(manifest, answers):
    silent = [dataclasses.replace(p, prediction=None) for p in answers["metadata"]]
    found = score_mode(silent, manifest, draws=10)
    assert found.unanswered == len(manifest.examples)
    assert found.over_seeds["macro_f1"].mean == 0


def test_systems_are_compared_on_the_same_participants(manifest, answers):
    found = compare_modes(answers["trigger_mapping"], answers["majority"], manifest)
    margin = found["macro_f1"]
    assert 0 < margin.low < margin.mean < margin.high
    with pytest.raises(ValueError, match="b has the seeds"):
        compare_modes(
            answers["majority"],
            [
                *answers["majority"],
                *(dataclasses.replace(p, seed=1) for p in answers["majority"]),
            ],
            manifest,
        )


def test_the_command_prints_the_rows_and_scores_what_it_stored(export, tmp_path, capsys):
    assert command.main(["reference", str(export), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[1:]] == list(SYSTEMS)
    files = [str(tmp_path / f"{name}.jsonl") for name in SYSTEMS]
    assert command.main(["score", str(export), *files]) == 0
    assert capsys.readouterr().out.splitlines() == printed
    stored = [json.loads(line) for line in (tmp_path / "metadata.jsonl").open()]
    assert set(stored[0]) == {field.name for field in dataclasses.fields(ModePrediction)}


def test_the_command_cleans_and_stops_on_problems(export, tmp_path, capsys):
    assert command.main(["clean", str(export), str(tmp_path / "out")]) == 0
    assert "changed (duplicate): 2" in capsys.readouterr().out
    assert (tmp_path / "out" / "mode.jsonl").stat().st_size > 0
    assert command.main(["clean", str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 1
    assert "is no folder" in capsys.readouterr().err
