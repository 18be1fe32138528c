"""COCO compressed run-length masks: reading, area, and the point where a label belongs."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Pixels of the largest mask that is read; Pillow opens no picture as large.
MOST_PIXELS = 2**28
_LONGEST = 7  # characters of a run: six hold MOST_PIXELS and a sign


def decode_rle(rle: Mapping[str, Any]) -> Mask:
    """Boolean mask [h, w] of a COCO run-length encoding {"size": [h, w], "counts": str}.

    Raises ValueError for a size that no picture has, and when the runs do not fill it exactly.

    >>> encode_rle(np.eye(2, dtype=bool))["size"]
    [2, 2]
    >>> bool((decode_rle(encode_rle(np.eye(3, dtype=bool))) == np.eye(3, dtype=bool)).all())
    True
    """
    import cv2

    try:
        height, width = (index(n) for n in rle["size"])
        counts = rle["counts"]
        encoded = counts.encode() if isinstance(counts, str) else bytes(memoryview(counts))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"mask: {str(rle)[:80]!r} has no size [h, w] and counts") from None
    if min(height, width) < 0 or max(height, width, height * width) > MOST_PIXELS:
        raise ValueError(f"mask: size [{height}, {width}] is not that of a picture")
    runs = _run_lengths(encoded)
    if runs.sum() != height * width or runs.min(initial=0) < 0:
        raise ValueError(
            f"mask: its runs cover {runs.sum()} pixels, its size {height}x{width} has "
            f"{height * width}; the counts are cut or damaged"
        )
    mask: Mask = np.zeros((height, width), bool)
    ends = runs.cumsum()
    starts, stops = ends[:-1:2].tolist(), ends[1::2].tolist()  # of the runs inside the mask
    if starts:
        # Runs go down the columns, so only the columns between the first and the last are made.
        first, last = starts[0] // height, -(-stops[-1] // height)
        columns = np.zeros((last - first) * height, np.uint8)
        for start, stop in zip(starts, stops, strict=True):
            columns[start - first * height : stop - first * height] = 1
        if columns.size:
            drawn = cv2.transpose(columns.reshape(last - first, height))
            mask[:, first:last] = drawn.view(bool)
    return mask


def _run_lengths(counts: bytes) -> Ints:
    """Run lengths of the compressed form: 5 bits a character, low first, deltas two runs back."""
    codes = np.frombuffer(counts, np.uint8).astype(np.int64) - 48
    wrong = np.flatnonzero((codes < 0) | (codes >= 64))
    if wrong.size:
        character = chr(counts[wrong[0]])
        raise ValueError(f"mask: character {character!r} is not in the run-length alphabet")
    last = np.flatnonzero(codes & 0x20 == 0)  # the last character of each number
    if not last.size:
        return last
    first = np.concatenate([[0], last[:-1] + 1])
    longest = int((last - first).max()) + 1
    if longest > _LONGEST:
        raise ValueError(f"mask: a run of {longest} characters is longer than any picture")
    codes = codes[: last[-1] + 1]
    place = np.arange(codes.size) - np.repeat(first, last - first + 1)
    numbers = np.add.reduceat((codes & 0x1F) << (5 * place), first)
    numbers -= (codes[last] & 0x10 != 0) * (np.int64(1) << (5 * (last - first + 1)))
    # The first three stand for themselves, each later one for a difference to the last but one.
    numbers[1::2] = np.cumsum(numbers[1::2])
    numbers[2::2] = np.cumsum(numbers[2::2])
    return numbers


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
    bits = np.ascontiguousarray(mask).view(np.uint8)
    scaled: Mask = cv2.resize(bits, size, interpolation=cv2.INTER_NEAREST).view(bool)
    return scaled


def box_of(mask: Mask) -> tuple[slice, slice]:
    """Rows and columns of the smallest box around the mask [h, w]; both empty when it is.

    >>> box_of(np.array([[False, False], [False, True]]))
    (slice(1, 2, None), slice(1, 2, None))
    """
    import cv2

    x, y, width, height = cv2.boundingRect(np.ascontiguousarray(mask).view(np.uint8))
    return slice(y, y + height), slice(x, x + width)


def label_point(mask: Mask) -> tuple[int, int] | None:
    """Pixel (x, y) deepest inside the mask [h, w], or None when the mask is empty.

    Deepest is the largest Euclidean distance to a pixel outside, where everything beyond the
    picture is outside; of equally deep pixels the middle one in reading order is taken.

    >>> label_point(np.ones((3, 5), dtype=bool))
    (2, 1)
    """
    import cv2

    rows, columns = box_of(mask)
    if rows.start == rows.stop:
        return None
    # No pixel outside is nearer than the nearest one in the box or on the ring around it.
    padded = np.pad(mask[rows, columns].view(np.uint8), 1)
    depth = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
    # Squares of whole pixels: their roots differ in the last digit from one call to another.
    squares = np.rint(depth * depth)
    deepest = np.flatnonzero(squares == squares.max())
    y, x = divmod(int(deepest[len(deepest) // 2]), columns.stop - columns.start)
    return columns.start + x, rows.start + y
