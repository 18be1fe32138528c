"""Visual prompts: numbers stand on their parts, and what is switched off is not drawn."""

import io
import json

import cv2
import numpy as np
import pytest
import yaml
from PIL import Image
from scipy.optimize import linear_sum_assignment

from procedural_evals.masks import decode_rle, label_point
from procedural_evals.visual_prompt import (
    PromptStyle,
    boundary,
    draw_visual_prompt,
    palette,
    pick_colours,
    rgb_to_lab,
)

GREY = np.full((120, 160, 3), 128, dtype=np.uint8)
PLAIN = PromptStyle(size=None)


def square(top, left, side=40, shape=(120, 160)):
    mask = np.zeros(shape, dtype=bool)
    mask[top : top + side, left : left + side] = True
    return mask


TWO = {"0": square(10, 10), "1": square(60, 100)}


def drawn(**style):
    return np.asarray(draw_visual_prompt(GREY, TWO, PromptStyle(size=None, **style))).astype(int)


def test_the_same_input_gives_the_same_picture():
    assert (drawn() == drawn()).all()


def test_nothing_is_drawn_when_all_three_are_off():
    assert (drawn(labels=False, boundaries=False, masks=False) == 128).all()


def test_a_mask_tints_its_part_and_nothing_else():
    picture = drawn(labels=False, boundaries=False)
    changed = (picture != 128).any(axis=2)
    assert (changed == (TWO["0"] | TWO["1"])).all()


def test_a_boundary_is_two_pixels_wide_inside_its_part():
    picture = drawn(labels=False, masks=False)
    changed = (picture != 128).any(axis=2)
    expected = boundary(TWO["0"], 2) | boundary(TWO["1"], 2)
    assert (changed == expected).all()
    assert expected[10:12, 10:50].all()
    assert not expected[12:48, 12:48].any()


def test_a_label_is_white_on_black_at_the_middle_of_its_part():
    picture = drawn(boundaries=False, masks=False)
    ys, xs = np.nonzero((picture == 0).all(axis=2) & TWO["0"])
    assert abs(xs.mean() - 30) < 3
    assert abs(ys.mean() - 30) < 3
    assert (picture[TWO["0"]] > 200).all(axis=1).any()


def test_a_label_at_the_edge_stays_in_the_picture():
    picture = draw_visual_prompt(GREY, {"12": square(0, 0, side=4)}, PLAIN)
    black = (np.asarray(picture) == 0).all(axis=2)
    ys, xs = np.nonzero(black)
    assert ys.min() == 0
    assert xs.min() == 0
    assert black.sum() > 50


def test_renamed_parts_take_the_look_of_their_new_number():
    """What a part looks like must not tell which number it had in the other picture."""
    swapped = draw_visual_prompt(GREY, TWO, PLAIN, names={"0": "1", "1": "0"})
    renamed = draw_visual_prompt(GREY, {"1": TWO["0"], "0": TWO["1"]}, PLAIN)
    assert (np.asarray(swapped) == np.asarray(renamed)).all()


def test_colours_stand_out_from_each_other_and_from_what_lies_below():
    rng = np.random.default_rng(0)
    picture = np.full((60, 400, 3), (200, 60, 40), dtype=np.uint8)
    picture[:, 200:] = rng.integers(0, 255, (60, 200, 3))
    masks = [square(10, 40 * n, side=30, shape=(60, 400)) for n in range(10)]
    lab = rgb_to_lab(np.array(pick_colours(picture, masks)) / 255)
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert distances[np.triu_indices(10, 1)].min() > 30
    below = rgb_to_lab(np.array([[200, 60, 40]]) / 255)
    assert np.linalg.norm(lab[:5] - below, axis=1).min() > 40


def drawn_pixel_by_pixel(frame, masks, style):
    """The same picture the plain way: whole frames in float64, one mask after the other."""
    colours = pick_colours(frame, list(masks.values()))
    picture = frame.astype(np.float64)
    for mask, colour in zip(masks.values(), colours, strict=True):
        picture[mask] += style.opacity * (colour - picture[mask])
    for mask, colour in zip(masks.values(), colours, strict=True):
        picture[boundary(mask, style.boundary_width)] = colour
    return picture.round().astype(np.uint8)


@pytest.mark.parametrize("seed", range(4))
def test_tables_and_boxes_draw_what_whole_frames_in_floating_point_do(seed):
    rng = np.random.default_rng(seed)
    frame = rng.integers(0, 256, (90, 130, 3), dtype=np.uint8)
    masks = {}
    for number in range(5):  # ellipses that overlap and stand out of the picture
        canvas = np.zeros((90, 130), np.uint8)
        centre = tuple(int(x) for x in rng.integers(0, (130, 90)))
        cv2.ellipse(canvas, centre, tuple(rng.integers(5, 60, 2).tolist()), 30, 0, 360, 1, -1)
        masks[str(number)] = canvas.astype(bool)
    style = PromptStyle(size=None, labels=False)
    ours = np.asarray(draw_visual_prompt(frame, masks, style))
    assert (ours == drawn_pixel_by_pixel(frame, masks, style)).all()


def test_a_palette_gives_the_same_colours_whatever_lies_below():
    style = PromptStyle(size=None, labels=False, masks=False, colours="palette")
    edge = boundary(TWO["0"], 2)
    on_grey, on_red = (
        np.asarray(draw_visual_prompt(frame, TWO, style))[edge]
        for frame in (GREY, np.full_like(GREY, (255, 40, 40)))
    )
    assert (on_grey == on_red).all()
    assert (on_grey == palette(1)[0].round()).all()
    rgb = np.array(palette(9)) / 255
    lab = rgb_to_lab(rgb)
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert distances[np.triu_indices(9, 1)].min() > 15


def test_labels_grow_with_their_font():
    def black(**style):
        return (drawn(boundaries=False, masks=False, **style) == 0).all(axis=2).sum()

    assert black(font_size=32) > 2.5 * black(font_size=16)


@pytest.mark.parametrize("wrong", [{"colours": "rainbow"}, {"font_size": 0}])
def test_a_style_that_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PromptStyle(**wrong)


def test_lab_agrees_with_opencv():
    rgb = np.random.default_rng(1).random((500, 3)).astype(np.float32)
    theirs = cv2.cvtColor(rgb[None], cv2.COLOR_RGB2LAB)[0]
    assert np.abs(rgb_to_lab(rgb.astype(float)) - theirs).max() < 0.5


@pytest.mark.parametrize(
    "frame", [np.zeros((4, 4)), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), "u1")]
)
def test_a_frame_of_another_form_is_named(frame):
    with pytest.raises(ValueError, match="uint8"):
        draw_visual_prompt(frame, {})


# The published pictures of question 200: frame 72 with the parts' own numbers, frame 249 with
# permuted ones.
PICTURES = {
    "A": (72, "726af71fbd8773a2bd273ef60deab23fe9dc30485d61aa67e74fb106dacde503.jpg"),
    "B": (249, "9fa8c6168c5f381e1e28551a65930d9b183ecbfb5f14ec97b8d37ced4f275eaa.jpg"),
}


def label_box(picture, centre, reach=16):
    """The black label box nearest to a point: left, top, width, height, distance of its middle."""
    x, y = (round(value) for value in centre)
    top, left = max(y - reach, 0), max(x - reach, 0)
    window = picture[top : y + reach, left : x + reach].max(axis=2)
    black = cv2.morphologyEx((window < 40).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5)))
    count, _, stats, middles = cv2.connectedComponentsWithStats(black, connectivity=4)
    boxes = [n for n in range(1, count) if stats[n, cv2.CC_STAT_AREA] >= 60]
    if not boxes:
        return None
    distance = [np.hypot(*(middles[n] - (x - left, y - top))) for n in boxes]
    best = int(np.argmin(distance))
    x0, y0, width, height = stats[boxes[best], :4]
    return left + x0, top + y0, width, height, distance[best]


def published(shared, name):
    """A published picture, its masks, and the label that each part carries in it."""
    folder = shared / "data/flat-pack-bench"
    frame, file = PICTURES[name]
    picture = np.asarray(Image.open(folder / "media-sample" / file).convert("RGB"))
    masks_file = folder / "segmentation-masks/Misc/satsumas_2/6kyW3P6x6O8/6kyW3P6x6O8.json"
    masks = {
        part: decode_rle(rle)
        for part, rle in json.loads(masks_file.read_text())["manual"][str(frame)].items()
    }
    labels = {part: part for part in masks}
    if name == "B":
        source = yaml.safe_load((folder / "questions/yamls/200.yaml").read_text())
        labels = source["jumble_map"]
    return picture, masks, labels


def centre_of(mask):
    x, y = label_point(mask)
    return x / 2, y / 1.5  # masks are 1280x720, pictures 640x480


@pytest.mark.parametrize("name", PICTURES)
def test_numbers_stand_where_the_authors_put_them(shared, name):
    theirs, masks, labels = published(shared, name)
    assert len(masks) == 10
    grey = np.full((720, 1280, 3), 128, np.uint8)
    ours = np.asarray(draw_visual_prompt(grey, masks, names=labels))
    for part, mask in masks.items():
        for picture in (theirs, ours):
            box = label_box(picture, centre_of(mask))
            assert box is not None, f"no label box near part {part} of Image {name}"
            # Their text hangs a few pixels below its point.
            assert box[4] <= 8, f"the box of part {part} is {box[4]:.0f} px from its mask's middle"


@pytest.mark.parametrize("drawn_by", ["the authors", "us"])
def test_image_b_carries_the_permuted_numbers(shared, drawn_by):
    """The ten digits of Image A, found again in Image B by their looks, stand where they should."""
    digits = {}
    for name in PICTURES:
        picture, masks, labels = published(shared, name)
        if drawn_by == "us":
            picture = np.asarray(
                draw_visual_prompt(np.full((720, 1280, 3), 128, np.uint8), masks, names=labels)
            )
        digits[name] = {
            labels[part]: digit(picture, centre_of(mask)) for part, mask in masks.items()
        }
    # The picture's edge cuts one number in each of the authors' pictures.
    names = sorted(
        n for n in digits["A"] if digits["A"][n] is not None and digits["B"][n] is not None
    )
    assert len(names) >= 8
    alike = np.array(
        [[np.corrcoef(digits["A"][a], digits["B"][b])[0, 1] for b in names] for a in names]
    )
    rows, columns = linear_sum_assignment(-alike)
    assert [names[c] for c in columns] == [names[r] for r in rows]


def digit(picture, centre):
    """The white ink of the label box at a point, at one size; None where the edge cuts it."""
    left, top, width, height, _ = label_box(picture, centre)
    if top + height >= picture.shape[0]:
        return None
    crop = picture[top : top + height, left : left + width].min(axis=2)
    ys, xs = np.nonzero(crop > 110)
    cut = Image.fromarray(crop[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1])
    return np.asarray(cut.resize((12, 18), Image.Resampling.BILINEAR), dtype=float).ravel()


def test_a_prompt_survives_its_jpeg():
    buffer = io.BytesIO()
    picture = draw_visual_prompt(GREY, TWO, PLAIN)
    picture.save(buffer, "JPEG", quality=95, subsampling=0)
    again = np.asarray(Image.open(buffer)).astype(int)
    assert np.abs(again - np.asarray(picture)).mean() < 2
