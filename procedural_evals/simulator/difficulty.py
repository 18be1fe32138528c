"""How hard a simulated session is: a handful of numbers, each with one meaning."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Difficulty:
    """Knobs of the simulated world. Shares lie in [0, 1].

    Attributes
    ----------
    look_alikes
        Share of look-alike groups whose members have one colour; in the others each member has
        its own tint.
    occlusion
        How much the worker's arms hide: their thickness, the second hand, and how often somebody
        leans into the picture.
    cuts
        Camera cuts a minute.
    camera_motion
        How fast the camera orbits, degrees a second.
    length
        Share of a product's optional parts that it gets; more parts make a longer session.
    mistakes
        Probability that an action starts a mistake instead of the right step.
    hesitation
        Probability that the worker stops to search or to think before an action.

    >>> Difficulty(occlusion=2)
    Traceback (most recent call last):
        ...
    ValueError: Difficulty: occlusion is 2, but a share lies in [0, 1]
    """

    look_alikes: float = 0.8
    occlusion: float = 0.4
    cuts: float = 3.0
    camera_motion: float = 1.0
    length: float = 0.5
    mistakes: float = 0.15
    hesitation: float = 0.15

    def __post_init__(self) -> None:
        """Reject values that no world can have."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in {"cuts", "camera_motion"}:
                if not 0 <= value <= 60:
                    raise ValueError(f"Difficulty: {field.name} is {value}, but it lies in [0, 60]")
            elif not 0 <= value <= 1:
                raise ValueError(f"Difficulty: {field.name} is {value}, but a share lies in [0, 1]")


EASY = Difficulty(
    look_alikes=0.0, occlusion=0.0, cuts=0.0, camera_motion=0.0, length=0.0, mistakes=0.0,
    hesitation=0.0,
)  # fmt: skip
MEDIUM = Difficulty()
HARD = Difficulty(
    look_alikes=1.0, occlusion=1.0, cuts=8.0, camera_motion=3.0, length=1.0, mistakes=0.3,
    hesitation=0.3,
)  # fmt: skip
PRESETS = {"easy": EASY, "medium": MEDIUM, "hard": HARD}
