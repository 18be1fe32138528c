"""Tiny vision-language checkpoints with random weights, made on the spot in seconds, for tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

KINDS = ("qwen2_5_vl", "qwen3_vl")

_END, _TURN_END = "<|endoftext|>", "<|im_end|>"
_IMAGE, _VIDEO = "<|image_pad|>", "<|video_pad|>"
_VISION_START, _VISION_END = "<|vision_start|>", "<|vision_end|>"
_SPECIAL = [_END, "<|im_start|>", _TURN_END, _VISION_START, _VISION_END, _IMAGE, _VIDEO]

_TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}
{%- for part in message.content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'video' -%}<|vision_start|><|video_pad|><|vision_end|>
{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}{% endif %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""


def tiny_vlm(kind: str, folder: Path, *, seed: int = 0) -> Path:
    """Save a random checkpoint of this kind, about 1 MB, in the folder; returns the folder.

    It reads text, images and video, and answers with arbitrary text that is never empty: special
    tokens can't be generated.
    """
    import torch

    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    model, processor = {"qwen2_5_vl": _qwen2_5_vl, "qwen3_vl": _qwen3_vl}[kind](tokenizer)
    with torch.no_grad():
        # Random embeddings tied to the head would repeat the last token; the rows of the special
        # tokens are zero, so that one of the others always scores higher.
        model.lm_head.weight.normal_(0, 0.5)
        model.lm_head.weight[: len(_SPECIAL)] = 0
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def cached_tiny_vlm(base: Path) -> Callable[[str], Path]:
    """A function that makes each kind once under a folder and gives it again after that."""
    made: dict[str, Path] = {}

    def checkpoint(kind: str) -> Path:
        if kind not in made:
            made[kind] = tiny_vlm(kind, base / kind)
        return made[kind]

    return checkpoint


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bytes_to_words = Tokenizer(models.BPE())
    bytes_to_words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_to_words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = ["which part is attached to the wheel next? answer A B C D yes no 0 1 2 start end"]
    bytes_to_words.train_from_iterator(text * 20, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bytes_to_words,
        eos_token=_TURN_END,
        pad_token=_END,
        model_max_length=8192,
    )


def _text_config(tokenizer: Any, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def _shared_config(tokenizer: Any) -> dict[str, Any]:
    token_id = tokenizer.convert_tokens_to_ids
    return {
        "image_token_id": token_id(_IMAGE),
        "video_token_id": token_id(_VIDEO),
        "vision_start_token_id": token_id(_VISION_START),
        "vision_end_token_id": token_id(_VISION_END),
        "tie_word_embeddings": False,
        "initializer_range": 0.5,
    }


_VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 64,
}


def _qwen2_5_vl(tokenizer: Any) -> tuple[Any, Any]:
    import transformers as hf

    rope = {"type": "mrope", "rope_type": "default", "mrope_section": [2, 3, 3]}
    config = hf.Qwen2_5_VLConfig(
        text_config=_text_config(tokenizer, rope_scaling=rope),
        vision_config={
            **_VISION,
            "depth": 2,
            "patch_size": 14,
            "window_size": 112,
            "fullatt_block_indexes": [1],
        },
        **_shared_config(tokenizer),
    )
    pixels = {"shortest_edge": 56 * 56, "longest_edge": 112 * 112}
    processor = hf.Qwen2_5_VLProcessor(
        image_processor=hf.Qwen2VLImageProcessor(size=pixels),
        video_processor=hf.Qwen2VLVideoProcessor(size=pixels),
        tokenizer=tokenizer,
        chat_template=_TEMPLATE,
    )
    return hf.Qwen2_5_VLForConditionalGeneration(config), processor


def _qwen3_vl(tokenizer: Any) -> tuple[Any, Any]:
    import transformers as hf

    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "mrope_interleaved": True}
    config = hf.Qwen3VLConfig(
        text_config=_text_config(tokenizer, head_dim=16, rope_scaling=rope),
        vision_config={
            **_VISION,
            "depth": 3,
            "patch_size": 16,
            "num_position_embeddings": 256,
            "deepstack_visual_indexes": [0, 1],
        },
        **_shared_config(tokenizer),
    )
    image = partial(hf.Qwen2VLImageProcessor, patch_size=16)
    processor = hf.Qwen3VLProcessor(
        image_processor=image(size={"shortest_edge": 64 * 64, "longest_edge": 128 * 128}),
        # Qwen3-VL's video sizes are for all frames together.
        video_processor=hf.Qwen3VLVideoProcessor(
            patch_size=16, size={"shortest_edge": 64 * 64, "longest_edge": 32 * 96 * 96}
        ),
        tokenizer=tokenizer,
        chat_template=_TEMPLATE,
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor
