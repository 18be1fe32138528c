"""COCO compressed run-length masks: reading, area, and the point where a label belongs."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

#: Pixels of the largest mask that is read; Pillow opens no picture as large.
MOST_PIXELS = 2**28


def decode_rle(rle: Mapping[str, Any]) -> Mask:
    """Boolean mask [h, w] of a COCO run-length encoding {"size": [h, w], "counts": str}.

    Raises ValueError for a size that no picture has, and when the runs do not fill it exactly.

    >>> encode_rle(np.eye(2, dtype=bool))["size"]
    [2, 2]
    >>> bool((decode_rle(encode_rle(np.eye(3, dtype=bool))) == np.eye(3, dtype=bool)).all())
    True
    """
    from pycocotools import mask as coco

    try:
        height, width = (index(n) for n in rle["size"])
        counts = rle["counts"]
        encoded = counts.encode() if isinstance(counts, str) else bytes(memoryview(counts))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"mask: {str(rle)[:80]!r} has no size [h, w] and counts") from None
    if min(height, width) < 0 or max(height, width, height * width) > MOST_PIXELS:
        raise ValueError(f"mask: size [{height}, {width}] is not that of a picture")
    runs = _run_lengths(encoded)
    if sum(runs) != height * width or min(runs, default=0) < 0:
        raise ValueError(
            f"mask: its runs cover {sum(runs)} pixels, its size {height}x{width} has "
            f"{height * width}; the counts are cut or damaged"
        )
    mask: Mask = coco.decode({"size": [height, width], "counts": encoded}).astype(bool)
    return mask


def _run_lengths(counts: bytes) -> list[int]:
    """Run lengths of the compressed form: 5 bits a character, low first, deltas two runs back."""
    runs: list[int] = []
    value = shift = 0
    for character in counts:
        code = character - 48
        if not 0 <= code < 64:
            raise ValueError(
                f"mask: character {chr(character)!r} is not in the run-length alphabet"
            )
        value |= (code & 0x1F) << shift
        shift += 5
        if code & 0x20:
            continue
        if code & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


def encode_rle(mask: NDArray[Any]) -> dict[str, Any]:
    """COCO compressed run-length encoding of a mask [h, w]; any non-zero pixel is inside."""
    from pycocotools import mask as coco

    encoded = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": [int(n) for n in encoded["size"]], "counts": encoded["counts"].decode()}


def resize_mask(mask: Mask, size: tuple[int, int]) -> Mask:
    """The mask at (width, height), each pixel taken from its nearest source pixel."""
    import cv2

    if (mask.shape[1], mask.shape[0]) == size:
        return mask
    return cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST).astype(bool)


def label_point(mask: Mask) -> tuple[int, int] | None:
    """Pixel (x, y) deepest inside the mask [h, w], or None when the mask is empty.

    Deepest is the largest Euclidean distance to a pixel outside, where everything beyond the
    picture is outside; of equally deep pixels the middle one in reading order is taken.

    >>> label_point(np.ones((3, 5), dtype=bool))
    (2, 1)
    """
    import cv2

    if not mask.any():
        return None
    padded = np.pad(mask.astype(np.uint8), 1)
    depth = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
    deepest = np.flatnonzero(depth == depth.max())
    y, x = divmod(int(deepest[len(deepest) // 2]), mask.shape[1])
    return x, y
