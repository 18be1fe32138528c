"""One simulated session of DYAD: who helped whom, when, and what the performer's camera saw.

>>> world = make_dyad_world(3)
>>> [interval.step for interval in world.intervals][-2:]
['attach_crank', 'verify_rotation']
"""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from . import geometry as geo
from .difficulty import Difficulty
from .dyad_gearbox import make_gearbox, plan_bench
from .dyad_helper import Help, Said
from .dyad_performer import Drive, Interval, Performer, Reach
from .geometry import Vec
from .session import Session, Shot
from .world import World

#: Big parts that are needed early lie on the helper's shelf; how many differs.
SHELF = ("first holder", "large bearing", "small bearing", "long shaft", "short shaft")
#: The performer sits there (degrees), the helper's arm comes from there.
PERFORMER_SIDE, HELPER_SIDE = -90.0, 62.0
_GAZE_SHIFT, _TURN_TIME = 0.35, 0.7
_PAUSE, _SHORTEST = 0.8, 0.1
_DISTANCE = 1.15


class Fixation(NamedTuple):
    """From `start` on the performer looks at a point (metres)."""

    start: float
    point: Vec


@dataclass(frozen=True)
class EgoSession(Session):
    """A session that is filmed from the performer's head.

    `fixations` say what is looked at, `reaches` when the helper's hand comes in, `drives` which
    screwdriver is used.
    """

    fixations: tuple[Fixation, ...] = ()
    reaches: tuple[Reach, ...] = ()
    drives: tuple[Drive, ...] = ()

    def gaze(self, t: float) -> Vec:
        """The point that is looked at; the eyes move from one to the next in a moment."""
        return self._between(t, 0.15)

    def _between(self, t: float, seconds: float) -> Vec:
        k = bisect_right(self.fixations, t, key=lambda fixation: fixation.start) - 1
        if k < 1:
            return self.fixations[0].point
        share = min((t - self.fixations[k].start) / seconds, 1.0)
        share = share * share * (3 - 2 * share)
        return geo.mix(self.fixations[k - 1].point, self.fixations[k].point, share)

    def shot(self, t: float) -> Shot:
        """The head follows the gaze a part of the way, and more slowly."""
        x, y, _ = self._between(t, _TURN_TIME)
        look_at = geo.clean((_GAZE_SHIFT * x, -0.02 + _GAZE_SHIFT * y, 0.06))
        azimuth = PERFORMER_SIDE - 10.0 * _GAZE_SHIFT * x
        return Shot(t, t, azimuth, 0.0, 47.0, _DISTANCE, look_at)


@dataclass(frozen=True)
class DyadWorld(World):
    """A world with a helper: all that the annotators of a real session would write down.

    `requests`, `helps` and `intervals` are in the order of time; `recorded` is the time of the
    camera's end, seconds.
    """

    skill: float
    requests: tuple[Said, ...]
    helps: tuple[Help, ...]
    intervals: tuple[Interval, ...]
    recorded: float

    @cached_property
    def ego(self) -> EgoSession:
        """The session with its camera on the performer's head."""
        assert isinstance(self.session, EgoSession)
        return self.session


def make_dyad_world(
    seed: int = 0,
    difficulty: Difficulty | None = None,
    product_seed: int = 0,
    skill: float = 0.5,
    early_end: bool = False,
) -> DyadWorld:
    """A session of one performer at the gearbox.

    Parameters
    ----------
    seed
        Of the session: needs, words, order, bench.
    difficulty
        Its `length` adds a bearing; `occlusion` is the thickness of the arms.
    product_seed
        Of the gearbox; sessions share it.
    skill
        Of the performer, 0 to 1.
    early_end
        The camera stops before the helper's last words.
    """
    if not 0 <= skill <= 1:
        raise ValueError(f"skill: {skill}; a share from 0 to 1 is needed")
    level = difficulty or Difficulty()
    product = make_gearbox(product_seed, level)
    rng = random.Random(f"dyad/{product_seed}/{seed}/{skill}")
    # The housing's first wall always comes from the shelf; of the rest, what the table was too
    # small for.
    far = [SHELF[0], *rng.sample(SHELF[1:], rng.choice((0, 0, 1, 1, 2)))]
    floor = plan_bench(product, far, rng)
    performer = Performer(product, floor, level, rng, skill, far)
    performer.run()
    helps = sorted(performer.helper.helps, key=lambda event: event.start)
    last = performer.closing()
    duration = round(max(performer.time, last.end) + 0.8, 2)
    reaches = tuple(sorted(performer.reaches))
    session = EgoSession(
        product=product,
        floor=floor,
        actions=tuple(performer.actions),
        moves=tuple(sorted(performer.moves, key=lambda move: move.start)),
        contact_events=tuple(performer.events),
        shots=(Shot(0.0, duration, PERFORMER_SIDE, 0.0, 47.0, _DISTANCE, (0.0, 0.0, 0.06)),),
        passings=(),
        initial=performer.initial,
        worker_side=PERFORMER_SIDE,
        duration=duration,
        reaches=reaches,
        drives=tuple(sorted(performer.drives)),
    )
    session = replace(session, fixations=_fixations(session))
    return DyadWorld(
        product=product,
        session=session,
        difficulty=level,
        seed=seed,
        skill=skill,
        requests=tuple(performer.helper.requests),
        helps=tuple(helps),
        intervals=_merged(performer.intervals),
        recorded=round(last.start - 0.3, 2) if early_end else duration,
    )


def _fixations(session: EgoSession) -> tuple[Fixation, ...]:
    """What the performer looks at: the part first, then where it goes; a hand that comes in."""
    found = [Fixation(0.0, (0.0, 0.0, 0.0))]
    for action in session.actions:
        found.append(Fixation(action.start, session.pose(action.part, action.start).position))
        carried = next((p for p in action.phases if p.name == "carry"), action.phases[0])
        middle = (carried.start + carried.end) / 2
        place = session.pose(action.target or action.part, carried.end).position
        found.append(Fixation(round(middle, 2), place))
    for reach in session.reaches:
        found.append(Fixation(reach.start + 0.3, session.pose(reach.part, reach.start).position))
        place = session.pose(reach.part, reach.release).position
        found.append(Fixation(round(reach.release - 0.6, 2), place))
    return tuple(sorted(found))


def _merged(intervals: list[Interval]) -> tuple[Interval, ...]:
    """Neighbours of one step as one interval; a short pause belongs to what was before."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if interval.end - interval.start < _SHORTEST:
            continue
        if merged and interval.start - merged[-1].end <= _PAUSE:
            last = merged.pop()
            if last.step == interval.step and set(last.objects) & set(interval.objects):
                objects = tuple(dict.fromkeys((*last.objects, *interval.objects)))
                tool = last.tool or interval.tool
                merged.append(Interval(last.start, interval.end, last.step, objects, tool))
                continue
            merged.append(last._replace(end=interval.start))
        merged.append(interval)
    return tuple(
        Interval(round(i.start, 2), round(i.end, 2), i.step, i.objects, i.tool) for i in merged
    )
