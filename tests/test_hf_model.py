"""The transformers wrapper on tiny random checkpoints: what it shows, batches, failures."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from procedural_evals import replies
from procedural_evals.harness.items import REPEAT
from tests.numbered_clips import write_clip
from tests.tiny_vlm import KINDS, cached_tiny_vlm

pytestmark = pytest.mark.slow

SETTINGS = {"max_new_tokens": 12, "temperature": 0, "until": []}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory):
    return cached_tiny_vlm(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def load(checkpoint):
    from procedural_evals.harness.hf_model import ProceduralHF

    def make(kind: str, **arguments):
        return ProceduralHF(str(checkpoint(kind)), **{"device": "cpu", **arguments})

    return make


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    return [write_clip(folder / f"{n}.mp4", frames) for n, frames in enumerate((40, 5, 90))]


def picture(seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 255, (72, 96, 3), np.uint8)
    return Image.fromarray(noise)


def rows(clips: list[Path]) -> list[dict]:
    """Text alone, one picture, a video between two pictures, a short video, a range of a video."""
    video = [{"type": "video", "url": str(clip)} for clip in clips]
    image = [{"type": "image", "url": picture(seed)} for seed in range(3)]
    ask = {"type": "text", "text": "Which part is attached next? Answer A, B, C or D."}
    short = {"type": "text", "text": "Next?"}
    return [
        {"id": "text", "content": [ask]},
        {"id": "picture", "content": [image[0], ask]},
        {"id": "video-and-pictures", "content": [image[1], video[0], image[2], short]},
        {"id": "short-video", "content": [video[1], short, ask]},
        {"id": "range", "content": [{**video[2], "start_time": 1.0, "end_time": 2.5}, ask]},
    ]


def messages(row: dict) -> list[dict]:
    return [{"role": "user", "content": row["content"]}]


def ask(model, data: list[dict], settings: dict | list[dict] = SETTINGS) -> list:
    model.task_dict["task"] = {"test": data}
    given = settings if isinstance(settings, list) else [settings] * len(data)
    requests = [
        SimpleNamespace(args=(row["id"], messages, one, number, "task", "test"))
        for number, (row, one) in enumerate(zip(data, given, strict=True))
    ]
    return model.generate_until(requests)


@pytest.fixture(scope="module")
def alone(load, clips, kind):
    """Replies to each prompt by itself."""
    return ask(load(kind, max_num_frames=6), rows(clips))


def test_every_order_of_media_gets_a_reply_with_its_tokens(alone) -> None:
    assert all(result.text for result in alone)
    assert not any(replies.failed_request(result.text) for result in alone)
    assert [result.token_counts.output_tokens for result in alone] == [12] * 5
    given = [result.token_counts.input_tokens for result in alone]
    assert given[0] < given[1] < given[2]


@pytest.mark.parametrize("batch_size", [2, 5])
def test_a_batch_replies_what_each_prompt_alone_gets(
    load, clips, kind, alone, batch_size: int
) -> None:
    batched = ask(load(kind, max_num_frames=6, batch_size=batch_size), rows(clips))
    assert [result.text for result in batched] == [result.text for result in alone]
    assert [r.token_counts for r in batched] == [r.token_counts for r in alone]


def test_what_is_shown_matters_to_the_reply(load, clips, kind) -> None:
    """Replies of a random model differ as soon as the frames, their range or their order do."""
    model = load(kind, max_num_frames=6)
    text = {"type": "text", "text": "Next?"}
    first, second = ({"type": "image", "url": picture(seed)} for seed in (0, 1))
    contents = [
        [{"type": "video", "url": str(clips[0])}, text],
        [{"type": "video", "url": str(clips[0]), "start_time": 0.0, "end_time": 0.5}, text],
        [{"type": "video", "url": str(clips[2])}, text],
        [first, second, text],
        [second, first, text],
    ]
    data = [{"id": str(number), "content": content} for number, content in enumerate(contents)]
    scores = [model.continuation_scores(messages(row), ["A"])[0][0] for row in data]
    assert len({round(score, 4) for score in scores}) == len(scores)


def test_the_processor_gets_our_frames_and_their_times(load, clips, kind, monkeypatch) -> None:
    model = load(kind, max_num_frames=7)
    seen: list[dict] = []
    processor = model.processor

    def watched(**arguments):
        inputs = processor(**arguments)
        seen.append({**arguments, "grid": inputs["video_grid_thw"]})
        return inputs

    watched.tokenizer = processor.tokenizer
    watched.apply_chat_template = processor.apply_chat_template
    monkeypatch.setattr(model, "processor", watched)
    ask(model, [{"id": "v", "content": [{"type": "video", "url": str(clips[2])}]}])
    (call,) = seen
    assert call["do_sample_frames"] is False
    (metadata,) = call["video_metadata"]
    assert metadata["frames_indices"] == [0, 15, 30, 44, 59, 74, 89, 89]
    assert call["videos"][0][0].shape == (8, 96, 160, 3)
    assert call["grid"][0, 0] == 4  # two frames a patch
    if kind == "qwen3_vl":
        ids = processor(**call_without_grid(call))["input_ids"][0]
        shown = processor.tokenizer.decode(ids)
        # The mean time of the two frames of each patch.
        for seconds in ("<0.2 seconds>", "<1.2 seconds>", "<2.2 seconds>", "<3.0 seconds>"):
            assert seconds in shown


def call_without_grid(call: dict) -> dict:
    return {name: value for name, value in call.items() if name != "grid"}


def test_other_frames_than_given_are_an_error(load, clips, kind, monkeypatch) -> None:
    model = load(kind, max_num_frames=8)
    monkeypatch.setattr(model, "_plan", model._plan.__class__(8, multiple=4))
    (result,) = ask(model, [{"id": "v", "content": [{"type": "video", "url": str(clips[0])}]}])
    reason = replies.failed_request(result.text)
    assert reason == "ValueError: the processor was given 8 frames and took 16"


@pytest.mark.parametrize("batch_size", [1, 4])
def test_failed_items_fail_alone_and_keep_their_place(load, clips, tmp_path, batch_size) -> None:
    truncated = tmp_path / "truncated.mp4"
    truncated.write_bytes(clips[0].read_bytes()[:2000])
    empty = tmp_path / "empty.mp4"
    empty.touch()
    text = {"type": "text", "text": "Next?"}

    def row(name: str, *content: dict) -> dict:
        return {"id": name, "content": [*content, text]}

    good = row("good", {"type": "video", "url": str(clips[1])})
    data = [
        good,
        row("missing", {"type": "video", "url": str(tmp_path / "absent.mp4")}),
        row("truncated", {"type": "video", "url": str(truncated)}),
        row("empty", {"type": "video", "url": str(empty)}),
        row("range", {"type": "video", "url": str(clips[1]), "start_time": 5.0}),
        {
            "id": "found by the task",
            "content": [{**text, "text": replies.FAILURE_MARKS[1] + "] x"}],
        },
        {"id": "no message"},
        {**good, "id": "good too"},
    ]
    model = load("qwen2_5_vl", batch_size=batch_size)
    texts = [result.text for result in ask(model, data)]
    failures = [replies.failed_request(text) for text in texts]
    assert failures[0] is None
    assert failures[7] is None
    assert texts[0] == texts[7]
    for failure, words in zip(
        failures[1:7],
        ("absent.mp4", "truncated.mp4", "empty (0 bytes)", "no part of it", "x", "KeyError"),
        strict=True,
    ):
        assert words in (failure or "")
    assert failures[5] == "x"


def test_a_batch_that_does_not_fit_is_tried_one_by_one(load, clips, monkeypatch) -> None:
    import torch

    model = load("qwen3_vl", batch_size=5, max_num_frames=6)
    expected = [result.text for result in ask(model, rows(clips))]
    generate = model.model.generate
    sizes: list[int] = []

    def small_memory(**inputs):
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 1 or ("pixel_values_videos" in inputs and "pixel_values" in inputs):
            raise torch.OutOfMemoryError("out of memory")
        return generate(**inputs)

    monkeypatch.setattr(model.model, "generate", small_memory)
    texts = [result.text for result in ask(model, rows(clips))]
    assert sizes == [5, 1, 1, 1, 1, 1]
    assert replies.failed_request(texts[2]) == "OutOfMemoryError: out of memory"
    assert texts[:2] + texts[3:] == expected[:2] + expected[3:]


def test_an_interrupt_ends_the_run(load, clips, monkeypatch) -> None:
    model = load("qwen2_5_vl")

    def interrupted(**inputs):
        raise KeyboardInterrupt

    monkeypatch.setattr(model.model, "generate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(model, rows(clips))


def test_settings_of_the_task_are_honoured(load, clips) -> None:
    data = [{"id": str(n), "content": [{"type": "text", "text": "Next?"}]} for n in range(3)]
    model = load("qwen2_5_vl", batch_size=3)
    long, cut, short = ask(
        model,
        data,
        [SETTINGS, {**SETTINGS, "max_new_tokens": 20}, {**SETTINGS, "max_new_tokens": 3}],
    )
    assert short.token_counts.output_tokens == 3
    assert cut.token_counts.output_tokens == 20
    assert cut.text.startswith(long.text.rstrip("\ufffd"))
    stop = long.text[4:6]
    (stopped,) = ask(model, data[:1], {**SETTINGS, "until": ["never", stop]})
    assert stopped.text == long.text[: long.text.index(stop)]
    limited = load("qwen2_5_vl", max_new_tokens=2)
    assert ask(limited, data[:1])[0].token_counts.output_tokens == 2


def test_sampling_is_asked_for_by_a_temperature(load) -> None:
    import torch

    model = load("qwen2_5_vl")
    data = [{"id": str(n), "content": [{"type": "text", "text": "Next?"}]} for n in range(4)]
    torch.manual_seed(0)
    sampled = [r.text for r in ask(model, data, {**SETTINGS, "temperature": 5.0, "top_p": 1.0})]
    assert len(set(sampled)) == 4
    greedy = [r.text for r in ask(model, data, {**SETTINGS, "do_sample": True})]
    assert len(set(greedy)) == 1  # the temperature is 0
    with pytest.raises(ValueError, match="num_return_sequences=2"):
        ask(model, data, {**SETTINGS, "num_return_sequences": 2})


def test_a_reply_ends_at_its_end_token(load, monkeypatch) -> None:
    model = load("qwen2_5_vl", batch_size=2)
    texts = ("Next?", "Which part is attached to the wheel next?")
    data = [{"id": t, "content": [{"type": "text", "text": t}]} for t in texts]
    generate = model.model.generate
    outputs: list = []
    monkeypatch.setattr(
        model.model, "generate", lambda **given: outputs.append(generate(**given)) or outputs[-1]
    )
    free = ask(model, data)
    longer, shorter = outputs[0][:, -12:].tolist()  # the longer prompt comes first
    end = next(token for token in shorter[1:] if token not in longer)
    model.model.generation_config.eos_token_id = [model.processor.tokenizer.eos_token_id, end]
    ended = ask(model, data)
    assert ended[0].token_counts.output_tokens == shorter.index(end) + 1 < 12
    assert free[0].text.startswith(ended[0].text.rstrip("\ufffd"))
    assert ended[1] == free[1]


def test_videos_as_pictures_for_models_without_video(load, clips) -> None:
    data = [{"id": "v", "content": [{"type": "video", "url": str(clips[0])}]}]
    model = load("qwen2_5_vl", videos_as="images", max_num_frames=3)
    as_pictures = ask(model, data)[0]
    assert replies.failed_request(as_pictures.text) is None
    as_video = ask(load("qwen2_5_vl", max_num_frames=4), data)[0]
    # Three pictures, against two patches of two frames each.
    assert as_pictures.token_counts.input_tokens > as_video.token_counts.input_tokens


def test_scores_of_continuations_are_log_probabilities(load, kind) -> None:
    model = load(kind)
    prompt = [{"role": "user", "content": [{"type": "image", "url": picture(1)}]}]
    vocabulary = range(len(model.processor.tokenizer))
    single = [model.processor.tokenizer.decode([token]) for token in vocabulary]
    letters = sorted({text for text in single if len(text) == 1 and text.isascii()})
    scores = model.continuation_scores(prompt, letters)
    assert all(count == 1 and score < 0 for score, count in scores)
    assert sum(np.exp(score) for score, _ in scores) < 1
    (result,) = ask(model, [{"id": "x", "content": prompt[0]["content"]}], {"max_new_tokens": 1})
    if result.text in letters:
        assert result.text == letters[int(np.argmax([score for score, _ in scores]))]
    ((both, count),) = model.continuation_scores(prompt, ["~}"])
    assert count == 2
    assert both < dict(zip(letters, scores, strict=True))["~"][0]


def test_a_kept_prompt_gives_the_scores_of_the_whole_text(load, clips, kind) -> None:
    """Also for a prompt without media after one with them."""
    texts = ["They are attaching the crank.", "yes", "no, not the wheel but the axle"]
    model, whole = load(kind, max_num_frames=6), load(kind, max_num_frames=6)
    whole._continuations._goes_on = False
    model.continuation_scores(messages(rows(clips)[1]), texts)
    assert model._continuations._goes_on is True
    for row in (*rows(clips)[::-1], rows(clips)[0]):
        found = model.continuation_scores(messages(row), texts)
        expected = whole.continuation_scores(messages(row), texts)
        assert [count for _, count in found] == [count for _, count in expected]
        assert [s for s, _ in found] == pytest.approx([s for s, _ in expected], abs=1e-4)


def test_a_model_that_cannot_go_on_from_a_prompt_reads_the_whole_text(load, monkeypatch) -> None:
    model, other = load("qwen2_5_vl"), load("qwen2_5_vl")
    prompt = [{"role": "user", "content": [{"type": "image", "url": picture(1)}]}]
    expected = model.continuation_scores(prompt, ["one wheel", "no"])

    def forgets(self, prompt, begun, replies):
        return [-1.0 for _ in replies]

    monkeypatch.setattr(type(other._continuations), "_going_on", forgets)
    found = other.continuation_scores(prompt, ["one wheel", "no"])
    assert other._continuations._goes_on is False
    assert [s for s, _ in found] == pytest.approx([s for s, _ in expected], abs=1e-4)


def test_the_model_is_freed_when_lmms_eval_has_done_with_it(load) -> None:
    """A judge may need the room."""
    model = load("qwen2_5_vl")
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Next?"}]}]
    model.continuation_scores(prompt, ["yes", "no, not yet"])
    weights = weakref.ref(model.model)
    model.clean()
    assert weights() is None


def test_sampled_replies_depend_on_item_and_repeat_and_not_on_what_else_is_asked(load) -> None:
    import torch

    model = load("qwen2_5_vl")
    data = [{"id": str(n), "content": [{"type": "text", "text": "Next?"}]} for n in range(3)]
    warm = {**SETTINGS, "temperature": 5.0}
    model.task_dict["task"] = {"test": data}

    def asked(*places: tuple[int, int]) -> list[str]:
        requests = [
            SimpleNamespace(args=("", messages, warm, n, "task", "test"), metadata={REPEAT: repeat})
            for n, repeat in places
        ]
        return [result.text for result in model.generate_until(requests)]

    torch.manual_seed(3)
    every = asked((0, 0), (0, 1), (1, 0), (2, 0))
    assert len(set(every)) == 4
    torch.manual_seed(3)
    assert asked((2, 0), (0, 1)) == [every[3], every[1]]
    torch.manual_seed(4)
    assert asked((2, 0)) != [every[3]]


def test_each_batch_is_reported_when_it_is_there(load, clips) -> None:
    model = load("qwen2_5_vl", batch_size=2, max_num_frames=4)
    reported: list[list] = []
    model.on_replies = lambda asked, replies: reported.append(
        list(zip(asked, replies, strict=True))
    )
    results = ask(model, rows(clips))
    assert [len(batch) for batch in reported] == [2, 2, 1]
    for request, reply in (pair for batch in reported for pair in batch):
        assert results[request.args[3]] is reply


def test_a_system_prompt_comes_first(load, tmp_path) -> None:
    data = [{"id": "x", "content": [{"type": "text", "text": "Next?"}]}]
    plain = ask(load("qwen2_5_vl"), data)[0]
    file = tmp_path / "system.txt"
    file.write_text("Answer in one word.\n")
    spoken = ask(load("qwen2_5_vl", system_prompt=str(file)), data)[0]
    assert spoken.token_counts.input_tokens > plain.token_counts.input_tokens
    assert data == [{"id": "x", "content": [{"type": "text", "text": "Next?"}]}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": "auto"}, "batch_size=auto"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"videos_as": "gif"}, "videos_as=gif"),
        ({"dtype": "int7"}, "dtype=int7"),
        ({"max_num_frames": 0}, "max_num_frames=0"),
    ],
)
def test_wrong_arguments_are_named(load, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("qwen2_5_vl", **arguments)


def test_a_checkpoint_that_is_not_there_is_named(load, tmp_path) -> None:
    from procedural_evals.harness.hf_model import ProceduralHF

    with pytest.raises((OSError, ValueError), match="absent"):
        ProceduralHF(str(tmp_path / "absent"))


def test_types_and_placing(load) -> None:
    import torch

    assert load("qwen2_5_vl").model.dtype == torch.float32
    half = load("qwen2_5_vl", dtype="bfloat16")
    assert half.model.dtype == torch.bfloat16
    content = [{"type": "image", "url": picture(0)}, {"type": "text", "text": "Next?"}]
    assert replies.failed_request(ask(half, [{"id": "x", "content": content}])[0].text) is None
    placed = load("qwen2_5_vl", device_map="cpu")
    assert placed.device.type == "cpu"


def test_what_it_does_not_do_is_said(load) -> None:
    model = load("qwen2_5_vl")
    with pytest.raises(NotImplementedError, match="continuation_scores"):
        model.loglikelihood([])
    with pytest.raises(NotImplementedError, match="generate_until"):
        model.generate_until_multi_round([])


def test_real_video_and_pictures_get_a_reply(load, kind, shared) -> None:
    folder = shared / "data" / "flat-pack-bench" / "media-sample"
    (path,) = folder.glob("*.mp4")
    pictures = [{"type": "image", "url": str(file)} for file in sorted(folder.glob("*.jpg"))]
    content = [{"type": "video", "url": str(path)}, *pictures, {"type": "text", "text": "Next?"}]
    (result,) = ask(load(kind, max_num_frames=8), [{"id": "x", "content": content}])
    assert result.text
    assert replies.failed_request(result.text) is None
