"""`procedural_hf`: any image-text-to-text checkpoint of transformers, on any number of processes.

--model procedural_hf --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=32
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import transformers
from accelerate import Accelerator
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval.api.model import lmms
from loguru import logger
from tqdm import tqdm
from transformers import AutoModelForImageTextToText, AutoProcessor

from procedural_evals import replies
from procedural_evals.harness.hf_continuations import ContinuationScores
from procedural_evals.harness.hf_generation import Generation, seed_of
from procedural_evals.harness.hf_media import FramePlan, Prompt, prompt_of
from procedural_evals.harness.items import REPEAT, Row, failed_reply, name_of, place_of
from procedural_evals.harness.shown import note_frames


class ProceduralHF(lmms):  # type: ignore[misc]
    """A chat model of lmms-eval over `AutoModelForImageTextToText`.

    An item that fails (a missing video, not enough memory) gets a reply that begins with our
    failure mark and gives the reason; the log names it, and the run goes on.

    Args:
        pretrained: name on the Hub, or folder, of the checkpoint.
        revision: branch, tag or commit on the Hub.
        dtype: name of a torch type; "auto" is bfloat16 on a GPU and float32 elsewhere.
        device: for a run in one process; several processes take the devices in turn.
        device_map: hand the placing of the layers to accelerate ("auto": over all GPUs).
        batch_size: prompts that are generated together, padded on the left.
        max_batch_size: accepted, because lmms-eval passes it.
        max_num_frames: frames of a video, spread evenly, first and last included.
        fps: frames per second of a video instead, up to `max_num_frames`.
        max_pixels: larger frames and pictures are scaled down before the processor sees them.
        videos_as: "video", "images" (one picture a frame), or "auto": what the processor knows.
        max_new_tokens: takes the place of the tasks' own limit.
        attn_implementation: "sdpa", "eager", "flash_attention_2", ...
        trust_remote_code: run code that comes with the checkpoint.
        system_prompt: text, or file with a text, of a system message before each prompt.
    """

    is_simple = False
    reply_modules = (
        "procedural_evals.harness.hf_continuations",
        "procedural_evals.harness.hf_generation",
        "procedural_evals.harness.hf_media",
    )
    """What else decides a reply (see `reply_keys`)."""

    def __init__(
        self,
        pretrained: str,
        revision: str | int | None = None,
        dtype: str = "auto",
        device: str | None = None,
        device_map: str | None = None,
        batch_size: int | str = 1,
        max_batch_size: int | None = None,
        max_num_frames: int = 32,
        fps: float | None = None,
        max_pixels: int | None = None,
        videos_as: str = "auto",
        max_new_tokens: int | None = None,
        attn_implementation: str | None = None,
        trust_remote_code: bool = False,
        system_prompt: str = "",
    ) -> None:
        super().__init__()
        if not str(batch_size).isdigit() or int(batch_size) < 1:
            raise ValueError(f"batch_size={batch_size}: a whole number of at least 1 is needed")
        if videos_as not in ("auto", "video", "images"):
            raise ValueError(f"videos_as={videos_as}: auto, video or images is needed")
        self.batch_size_per_gpu = int(batch_size)
        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        alone = self._world_size == 1
        self._device = torch.device(device) if device and alone else self.accelerator.device
        source = {
            "revision": None if revision is None else str(revision),
            "trust_remote_code": trust_remote_code,
        }
        # Any: transformers' own annotations are incomplete.
        load_processor: Any = AutoProcessor.from_pretrained
        self.processor = load_processor(pretrained, **source)
        tokenizer = self.processor.tokenizer
        # Prompts of a batch have to end together: what follows them is generated.
        tokenizer.padding_side = "left"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        load_model: Any = AutoModelForImageTextToText.from_pretrained
        self._model = load_model(
            pretrained,
            dtype=_torch_dtype(dtype, self._device),
            attn_implementation=attn_implementation,
            device_map=device_map,
            **source,
        ).eval()
        if device_map is None:
            self._model.to(self._device)
        else:
            self._device = self._model.device
        video_processor = getattr(self.processor, "video_processor", None)
        self._plan = FramePlan(
            max_num_frames=int(max_num_frames),
            fps=fps,
            max_pixels=max_pixels,
            multiple=getattr(video_processor, "temporal_patch_size", None) or 1,
            as_images=videos_as == "images" or (videos_as == "auto" and video_processor is None),
        )
        self._max_new_tokens = max_new_tokens
        self.on_replies: Callable[[list[Instance], list[GenerationResult]], None] | None = None
        """Is called with each batch and its replies, as soon as they are there."""
        self._continuations = ContinuationScores(
            lambda: self._model, self._template, self._inputs, self._tokens
        )
        self._system_prompt = self._resolve_system_prompt(system_prompt)

    @property
    def device(self) -> torch.device:
        """Where the model is, and where lmms-eval gathers counts from all processes."""
        return self._device

    @property
    def model(self) -> Any:
        """The transformers model."""
        return self._model

    @property
    def reply_identity(self) -> dict[str, str]:
        """What a reply depends on beside the arguments: the type chosen, transformers' version."""
        return {"dtype": str(self._model.dtype), "transformers": transformers.__version__}

    @property
    def batch_size(self) -> int:
        """Prompts that are generated together."""
        return self.batch_size_per_gpu

    def generate_until(self, requests: Sequence[Instance]) -> list[GenerationResult]:
        """A reply for each chat request, in their order, with its token counts."""
        results: list[GenerationResult] = [GenerationResult("")] * len(requests)
        seeds = self._seeds(requests)
        failed = 0
        with tqdm(total=len(requests), disable=self.rank != 0, desc="procedural_hf") as bar:
            for generation, batch in self._batches(requests):
                asked = [requests[number] for number in batch]
                answered = self._answered(asked, [seeds[number] for number in batch], generation)
                if self.on_replies is not None:
                    self.on_replies(asked, answered)
                for number, result in zip(batch, answered, strict=True):
                    results[number] = result
                    failed += replies.failed_request(result.text) is not None
                bar.update(len(batch))
                bar.set_postfix(failed=failed)
        if failed:
            logger.warning(f"procedural_hf: {failed} of {len(requests)} requests failed")
        return results

    def loglikelihood(self, requests: Sequence[Instance]) -> list[tuple[float, bool]]:
        """Not offered by lmms-eval to chat models."""
        raise NotImplementedError(
            "lmms-eval gives chat models no loglikelihood requests; use a task with output_type "
            "generate_until, or ProceduralHF.continuation_scores(messages, continuations)"
        )

    def generate_until_multi_round(self, requests: Sequence[Instance]) -> list[str]:
        """Not offered."""
        raise NotImplementedError(
            "procedural_hf answers single prompts; use a task with output_type generate_until"
        )

    def continuation_scores(
        self, messages: Sequence[Mapping[str, Any]], continuations: Sequence[str]
    ) -> list[tuple[float, int]]:
        """How likely the model is to reply by each of these texts.

        Returns, for each, the natural logarithm of its probability after the messages and its
        number of tokens; the end of the reply is not part of it.
        """
        prompt = prompt_of(self._with_system_prompt(messages), self._plan)
        return self._continuations.scores(prompt, continuations)

    # ---- batches ------------------------------------------------------------------------------

    def _batches(self, requests: Sequence[Instance]) -> Iterator[tuple[Generation, list[int]]]:
        """Numbers of the requests that are generated together: equal settings, similar length."""
        groups: dict[Generation, list[int]] = {}
        for number, request in enumerate(requests):
            generation = Generation.from_settings(request.args[2], self._max_new_tokens)
            groups.setdefault(generation, []).append(number)
        for generation, numbers in groups.items():
            if self.batch_size > 1:
                # Longest first: what does not fit into memory shows at once.
                numbers.sort(key=lambda number: -len(str(requests[number].args[0])))
            for first in range(0, len(numbers), self.batch_size):
                yield generation, numbers[first : first + self.batch_size]

    def _seeds(self, requests: Sequence[Instance]) -> list[int]:
        """For sampling: by the run's seed, the item and the repeat, whatever else is asked."""
        seeds, counts = [], Counter[tuple[object, ...]]()
        for request in requests:
            place = place_of(request.args)
            repeat = (getattr(request, "metadata", None) or {}).get(REPEAT, counts[place])
            counts[place] += 1
            seeds.append(seed_of(torch.initial_seed(), place.task, place.doc_id, repeat))
        return seeds

    def _answered(
        self, requests: Sequence[Instance], seeds: Sequence[int], generation: Generation
    ) -> list[GenerationResult]:
        """The replies of one batch; an item that fails takes no other one with it."""
        results: dict[int, GenerationResult] = {}
        prompts: dict[int, Prompt] = {}
        names: dict[int, str] = {}
        for number, request in enumerate(requests):
            place = place_of(request.args)
            row: Row | None = None
            try:
                row = self.task_dict[place.task][place.split][place.doc_id]
                prompts[number] = self._prompt(request, row)
            except Exception as error:
                results[number] = _failed(name_of(place, row), error)
            names[number] = name_of(place, row)
        seed = min((seeds[number] for number in prompts), default=0)
        outcome = self._attempt(list(prompts.values()), generation, seed)
        if isinstance(outcome, list):
            return _in_order(results | dict(zip(prompts, outcome, strict=True)))
        for number, prompt in prompts.items():
            if len(prompts) > 1:
                outcome = self._attempt([prompt], generation, seeds[number])
            results[number] = (
                outcome[0] if isinstance(outcome, list) else _failed(names[number], outcome)
            )
        return _in_order(results)

    def _prompt(self, request: Instance, row: Row) -> Prompt:
        """What the task shows for a row; raises when it is a failure that the task has found."""
        messages = self._with_system_prompt(request.args[1](row))
        prompt = prompt_of(messages, self._plan)
        for part in prompt.conversation[-1]["content"]:
            failure = replies.failed_request(part.get("text", ""))
            if failure is not None:
                raise NotShownError(failure)
        if prompt.frame_times and "id" in row:
            note_frames(str(row["id"]), prompt.frame_times)
        return prompt

    def _attempt(
        self, prompts: list[Prompt], generation: Generation, seed: int
    ) -> list[GenerationResult] | Exception:
        try:
            devices = [self._device] if self._device.type == "cuda" else []
            with torch.random.fork_rng(devices, enabled=generation.samples):
                if generation.samples:
                    torch.manual_seed(seed)
                return self._generated(prompts, generation) if prompts else []
        except Exception as error:
            # The traceback would keep the tensors that did not fit.
            outcome = error.with_traceback(None)
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        return outcome

    @torch.inference_mode()
    def _generated(
        self, prompts: Sequence[Prompt], generation: Generation
    ) -> list[GenerationResult]:
        if generation.continuations:
            texts = [self._continuations.ranked(p, generation.continuations) for p in prompts]
            return [GenerationResult(text) for text in texts]
        texts = [self._template(prompt.conversation) for prompt in prompts]
        inputs = self._inputs(prompts, texts)
        length = inputs["input_ids"].shape[1]
        tokenizer = self.processor.tokenizer
        output = self._model.generate(
            **inputs, **dict(generation.arguments), pad_token_id=tokenizer.pad_token_id
        )
        results = []
        for given, tokens in zip(
            inputs["attention_mask"], output[:, length:].tolist(), strict=True
        ):
            tokens = self._until_end(tokens)
            text = tokenizer.decode(tokens, skip_special_tokens=True)
            counts = TokenCounts(input_tokens=int(given.sum()), output_tokens=len(tokens))
            results.append(GenerationResult(generation.ended(text), counts))
        return results

    def _until_end(self, tokens: list[int]) -> list[int]:
        """The tokens up to the end of the reply; shorter replies of a batch are padded."""
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        last = next((at for at, token in enumerate(tokens) if token in ends), len(tokens) - 1)
        return tokens[: last + 1]

    # ---- prompts ------------------------------------------------------------------------------

    def _with_system_prompt(self, messages: Sequence[Mapping[str, Any]]) -> list[Any]:
        return list(self._apply_system_prompt(list(messages), self._system_prompt))

    def _template(self, conversation: list[dict[str, Any]]) -> str:
        """The prompt's text, up to where the reply begins."""
        apply: Any = self.processor.apply_chat_template
        return str(apply(conversation, tokenize=False, add_generation_prompt=True))

    def _tokens(self, text: str) -> list[int]:
        """The token numbers of a templated text."""
        tokenizer = self.processor.tokenizer
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    def _inputs(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> dict[str, Any]:
        """What the model takes for these prompts and their templated texts."""
        arguments: dict[str, Any] = {"text": list(texts), "padding": True, "return_tensors": "pt"}
        if any(prompt.images for prompt in prompts):
            arguments["images"] = [prompt.images for prompt in prompts]
        if any(prompt.videos for prompt in prompts):
            arguments["videos"] = [prompt.videos for prompt in prompts]
            arguments["video_metadata"] = [data for prompt in prompts for data in prompt.metadata]
            arguments["do_sample_frames"] = False
        start = self.processor.tokenizer.bos_token
        if start and texts[0].startswith(start):
            arguments["add_special_tokens"] = False
        inputs = self.processor(**arguments)
        self._check_frames(prompts, inputs)
        return {
            name: value.to(self._device, self._model.dtype)
            if name.startswith("pixel_values")
            else value.to(self._device)
            for name, value in inputs.items()
            if isinstance(value, torch.Tensor)
        }

    def _check_frames(self, prompts: Sequence[Prompt], inputs: Mapping[str, Any]) -> None:
        """Raise when the processor took other frames than it was given, where it says so."""
        grid = inputs.get("video_grid_thw")
        if grid is None:
            return
        given = [len(frames) for prompt in prompts for frames in prompt.videos]
        taken = [int(count) * self._plan.multiple for count in grid[:, 0]]
        if given != taken:
            counts = (", ".join(map(str, counts)) for counts in (given, taken))
            raise ValueError("the processor was given {} frames and took {}".format(*counts))


class NotShownError(ValueError):
    """The task could not show the row; the message is its reason."""


def _failed(name: str, error: object) -> GenerationResult:
    reason = str(error) if isinstance(error, NotShownError) else error
    logger.error(f"{name}: {failed_reply(reason)}")
    return GenerationResult(failed_reply(reason))


def _in_order(results: Mapping[int, GenerationResult]) -> list[GenerationResult]:
    return [results[number] for number in sorted(results)]


def _torch_dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype={name}: auto or a type of torch (bfloat16, float32) is needed")
    return dtype
