"""Multiple-choice questions about a simulated assembly, in the thirteen forms of Flat-Pack Bench.

The names of tasks and templates are those of the benchmark; everything that is asked follows from
the world's truth. A question is about one frame (tracking: two) of a video with one frame a
second, so frame n shows the world at n seconds. Only parts that are visible in that frame are
named in it. `verify.verify` recomputes every answer in another way.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from .products import Pair, pair
from .session import Action
from .world import World

#: Task of each template.
TASKS = {
    "track_single": "tracking",
    "track_multi": "tracking",
    "many_part_order": "temporal_ord",
    "edge_order": "temporal_ord",
    "latest_change": "temporal_loc",
    "next_change": "temporal_loc",
    "1part_order": "temporal_loc",
    "1part_order_last": "temporal_loc",
    "1edge_order": "temporal_loc",
    "1edge_order_last": "temporal_loc",
    "find_edges": "mating",
    "1part": "mating",
    "2parts": "mating",
}
TEMPLATES = tuple(TASKS)
#: How often each template is asked, relative to the others: the common ones of the benchmark most,
#: the rare ones often enough to be seen in a small set.
WEIGHTS = {
    "track_single": 9, "track_multi": 9, "many_part_order": 7, "edge_order": 7,
    "latest_change": 6, "next_change": 4, "1part_order": 4, "1part_order_last": 3,
    "1edge_order": 3, "1edge_order_last": 3, "find_edges": 5, "1part": 4, "2parts": 4,
}  # fmt: skip
#: Events closer together than this are not put into an order (seconds).
APART = 1.0

#: Shapes of the options of mating questions: four plain ones, three with one right, several right
#: or none; so often that the last place is not right more often than others.
_FORMS = ("one", "one", "one", "one of three", "one of three", "one of three", "both", "none")

#: A part id, a pair, a sequence of pairs, or a word ("Yes", "none").
Raw: TypeAlias = "str | tuple[Raw, ...]"


@dataclass(frozen=True)
class Choice:
    """One option; `extra` is "both" or "none" for one that speaks about the other options."""

    raw: Raw
    extra: str = ""


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    template
        One of `TEMPLATES`.
    frames
        One frame number, or two (Image A, Image B) for tracking.
    query
        Part ids that the question itself names.
    choices
        Options as they are shown.
    correct
        Index of the right one.
    jumble
        Tracking: number that Image B shows for each part id.
    """

    template: str
    frames: tuple[int, ...]
    query: tuple[str, ...]
    choices: tuple[Choice, ...]
    correct: int
    jumble: Mapping[str, str] | None = None

    @property
    def task(self) -> str:
        """Task that the template belongs to."""
        return TASKS[self.template]

    def renamed(self, ids: Mapping[str, str]) -> Question:
        """The same question after the parts were given other ids."""

        def new(raw: Raw) -> Raw:
            return ids.get(raw, raw) if isinstance(raw, str) else tuple(new(r) for r in raw)

        jumble = None
        if self.jumble is not None:
            jumble = {ids[part]: ids[shown] for part, shown in self.jumble.items()}
        return replace(
            self,
            query=tuple(ids[part] for part in self.query),
            choices=tuple(replace(c, raw=new(c.raw)) for c in self.choices),
            jumble=jumble,
        )


class Letters:
    """Deals out the places of right answers evenly, for each task and number of options."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._used: Counter[tuple[str, int, int]] = Counter()

    def shuffle(self, question: Question) -> Question:
        """Options in a new order; those that speak about the others stay last."""
        right = question.choices[question.correct]
        count = len(question.choices)
        extras = [c for c in question.choices if c.extra]
        plain = [c for c in question.choices if not c.extra and c is not right]
        self.rng.shuffle(plain)
        if right.extra:
            order = [*plain, *extras]
        else:
            places = list(range(count - len(extras)))
            self.rng.shuffle(places)
            place = min(places, key=lambda p: self._used[question.task, count, p])
            order = [*plain[:place], right, *plain[place:], *extras]
        correct = next(n for n, c in enumerate(order) if c is right)
        self._used[question.task, count, correct] += 1
        return replace(question, choices=tuple(order), correct=correct)


class Asker:
    """Makes questions about one world.

    Parameters
    ----------
    world
        The truth.
    visible
        For each frame that may be shown: the parts that can be made out in it.
    rng
        Source of chance.
    """

    def __init__(
        self, world: World, visible: Mapping[int, Iterable[str]], rng: random.Random
    ) -> None:
        self.world, self.rng = world, rng
        self.visible = {n: frozenset(parts) for n, parts in sorted(visible.items())}
        if not self.visible:
            raise ValueError("Asker: no frame to ask about")
        self._begins: dict[Pair, list[float]] = {}
        for event in world.session.contact_events:
            if event.begins:
                self._begins.setdefault(event.pair, []).append(event.time)
        ended = {e.pair for e in world.session.contact_events if not e.begins}
        #: Contacts that were made once and for all, and when.
        self.lasting = {
            p: times[0] for p, times in self._begins.items() if len(times) == 1 and p not in ended
        }
        self._makers: dict[str, Callable[[], Question | None]] = {
            "track_single": self._track_single,
            "track_multi": self._track_multi,
            "many_part_order": self._many_part_order,
            "edge_order": self._edge_order,
            "latest_change": self._latest_change,
            "next_change": self._next_change,
            "1part_order": self._one_part_order,
            "1part_order_last": self._one_part_order_last,
            "1edge_order": lambda: self._one_edge(last=False),
            "1edge_order_last": lambda: self._one_edge(last=True),
            "find_edges": self._find_edges,
            "1part": self._one_part,
            "2parts": self._two_parts,
        }

    def ask(self, template: str) -> Question | None:
        """A question of a template, its options in no order; None if none came up."""
        if template not in self._makers:
            raise ValueError(f"ask: no template {template!r}; there are {', '.join(TEMPLATES)}")
        for _ in range(40):
            question = self._makers[template]()
            if question is not None:
                return question
        return None

    # Drawing ------------------------------------------------------------------------------------

    def _frame(self, early: bool = False) -> tuple[int, list[str]]:
        """A frame and its visible parts in random order; early frames are likelier if asked."""
        frames = list(self.visible)
        n = self.rng.choice(frames[: max(1, len(frames) // 2)] if early else frames)
        return n, self._mixed(self.visible[n])

    def _mixed(self, parts: Iterable[str]) -> list[str]:
        found = sorted(parts, key=lambda id: (len(id), id))
        self.rng.shuffle(found)
        return found

    def _ends(self, edge: Pair) -> tuple[str, str]:
        """The two parts of a pair, either first."""
        return edge if self.rng.random() < 0.5 else (edge[1], edge[0])

    @staticmethod
    def _spread(timed: Sequence[tuple[float, Raw]]) -> list[tuple[float, Raw]]:
        """In time order, without those that follow another one too closely."""
        chosen: list[tuple[float, Raw]] = []
        for time, item in sorted(timed, key=lambda entry: entry[0]):
            if not chosen or time - chosen[-1][0] >= APART:
                chosen.append((time, item))
        return chosen

    def _sample(self, timed: list[tuple[float, Raw]], count: int) -> list[Raw]:
        """`count` items in time order, out of items in time order."""
        places = sorted(self.rng.sample(range(len(timed)), count))
        return [timed[p][1] for p in places]

    def _question(
        self,
        template: str,
        frames: tuple[int, ...],
        right: Raw,
        wrong: Iterable[Raw],
        query: tuple[str, ...] = (),
        jumble: Mapping[str, str] | None = None,
    ) -> Question:
        choices = (Choice(right), *(Choice(raw) for raw in wrong))
        return Question(template, frames, query, choices, 0, jumble)

    # Order over the whole video -----------------------------------------------------------------

    def _many_part_order(self) -> Question | None:
        n, parts = self._frame()
        hub = parts[0]
        timed: list[tuple[float, Raw]] = [
            (self.lasting[pair(hub, p)], p) for p in parts[1:] if pair(hub, p) in self.lasting
        ]
        spread = self._spread(timed)
        if len(spread) < 3:
            return None
        right = tuple(self._sample(spread, min(len(spread), self.rng.choice((3, 4)))))
        wrong = self._other_orders(right)
        return self._question("many_part_order", (n,), right, wrong, (hub,))

    def _edge_order(self) -> Question | None:
        n, parts = self._frame()
        shown = set(parts)
        edges = [e for e in self.lasting if set(e) <= shown]
        self.rng.shuffle(edges)
        spread = self._spread([(self.lasting[e], self._ends(e)) for e in edges])
        if len(spread) < 3:
            return None
        right = tuple(self._sample(spread, min(len(spread), self.rng.choice((3, 4, 5)))))
        wrong = self._other_orders(right)
        apart = self._apart(parts)
        if apart and self.rng.random() < 0.5:
            # One option names a connection that is never made.
            k = self.rng.randrange(len(right))
            wrong[-1] = (*right[:k], self._ends(self.rng.choice(apart)), *right[k + 1 :])
        return self._question("edge_order", (n,), right, wrong)

    def _other_orders(self, right: tuple[Raw, ...]) -> list[Raw]:
        """Three other orders of the same items, one of them close to the right one."""
        k = self.rng.randrange(len(right) - 1)
        swapped = (*right[:k], right[k + 1], right[k], *right[k + 2 :])
        others: list[Raw] = [swapped]
        while len(others) < 3:
            order = list(right)
            self.rng.shuffle(order)
            if tuple(order) != right and tuple(order) not in others:
                others.append(tuple(order))
        return others

    def _one_edge(self, last: bool) -> Question | None:
        n, parts = self._frame(early=True)
        shown = set(parts)
        edges = [e for e in self.lasting if set(e) <= shown]
        self.rng.shuffle(edges)
        spread = self._spread([(self.lasting[e], self._ends(e)) for e in edges])
        if len(spread) < 4:
            return None
        chosen = self._sample(spread, 4)
        right = chosen[-1] if last else chosen[0]
        wrong = [e for e in chosen if e != right]
        return self._question("1edge_order_last" if last else "1edge_order", (n,), right, wrong)

    def _one_part_order_last(self) -> Question | None:
        n, parts = self._frame(early=True)
        hub = parts[0]
        timed: list[tuple[float, Raw]] = [
            (self.lasting[pair(hub, p)], p) for p in parts[1:] if pair(hub, p) in self.lasting
        ]
        spread = self._spread(timed)
        if len(spread) < 3:
            return None
        chosen = self._sample(spread, min(len(spread), 4))
        question = self._question("1part_order_last", (n,), chosen[-1], chosen[:-1], (hub,))
        return self._with_none(question) if len(chosen) == 3 else question

    @staticmethod
    def _with_none(question: Question) -> Question:
        return replace(question, choices=(*question.choices, Choice("none", "none")))

    # Just before and just after a frame ---------------------------------------------------------

    def _changes(self) -> list[tuple[float, bool, Action]]:
        """Moments at which contacts begin or end: time, whether they begin, the action."""
        moments = {(e.time, e.begins, e.action) for e in self.world.session.contact_events}
        return [(t, b, self.world.session.actions[a]) for t, b, a in sorted(moments)]

    def _involved(self, action: Action) -> set[str]:
        events = self.world.session.contact_events
        return {part for e in events if e.action == action.index for part in e.pair}

    def _latest_change(self) -> Question | None:
        n, parts = self._frame()
        before = [c for c in self._changes() if c[0] <= n]
        if not before or not before[-1][1]:
            return None
        action = before[-1][2]
        involved = self._involved(action)
        joined = {p for e in self.world.contacts(n) for p in e}
        others = [p for p in parts if p not in involved]
        others.sort(key=lambda p: p not in joined)
        ready = len(action.moved) == 1 and action.part in parts and len(others) >= 3
        if not ready or others[0] not in joined:
            return None
        return self._question("latest_change", (n,), action.part, others[:3])

    def _next_change(self) -> Question | None:
        n, parts = self._frame()
        after = [c for c in self._changes() if c[0] > n]
        if not after or not after[0][1]:
            return None
        action = after[0][2]
        involved = self._involved(action)
        joined = {p for e in self.world.contacts(n) for p in e}
        others = [p for p in parts if p not in involved]
        others.sort(key=lambda p: p in joined)
        if len(action.moved) > 1 or action.part not in parts or len(others) < 2:
            return None
        question = self._question("next_change", (n,), action.part, others[:3])
        return self._with_none(question) if len(others) == 2 else question

    def _one_part_order(self) -> Question | None:
        n, parts = self._frame()
        hub = parts[0]
        times = {}
        for p in parts[1:]:
            later = [t for t in self._begins.get(pair(hub, p), []) if t > n]
            now = pair(hub, p) in self.world.contacts(n)
            if later and not now:
                times[p] = later[0]
        if not times:
            return None
        # The very next contact of the part, whether or not its partner is visible.
        first = min(
            t for e, ts in self._begins.items() if hub in e for t in ts if t > n
        )  # fmt: skip
        right = [p for p, t in times.items() if t == first]
        wrong = [p for p, t in times.items() if t >= first + APART]
        if len(right) != 1 or not wrong:
            return None
        never = [p for p in parts[1:] if pair(hub, p) not in self._begins]
        others = (wrong + never)[:3]
        if len(others) < 2:
            return None
        question = self._question("1part_order", (n,), right[0], others, (hub,))
        return self._with_none(question) if len(others) == 2 else question

    # The finished product -----------------------------------------------------------------------

    def _apart(self, parts: Sequence[str]) -> list[Pair]:
        """Pairs of shown parts that never touch, likely ones (with a common neighbour) first."""
        contacts = self.world.product.contacts
        found = [
            pair(a, b)
            for a, b in itertools.combinations(parts, 2)
            if pair(a, b) not in contacts and pair(a, b) not in self._begins
        ]

        def unlikely(edge: Pair) -> bool:
            near = [set(self.world.product.neighbours(p)) for p in edge]
            return not near[0] & near[1]

        return sorted(found, key=unlikely)

    def _unassembled(self) -> tuple[int, list[str], set[Pair]]:
        """An early frame, its parts, and the pairs that will touch but don't yet."""
        n, parts = self._frame(early=True)
        shown = set(parts)
        future = {
            e for e in self.world.product.contacts if set(e) <= shown
        } - self.world.contacts(n)  # fmt: skip
        return n, parts, future

    def _find_edges(self) -> Question | None:
        n, parts, future = self._unassembled()
        true = self._mixed_pairs(future)
        false = self._apart(parts)[:8]
        self.rng.shuffle(false)
        form = self.rng.choice(_FORMS)
        if form == "one":
            if not true or len(false) < 3:
                return None
            return self._question(
                "find_edges", (n,), self._ends(true[0]), [self._ends(e) for e in false[:3]]
            )
        count = {"one of three": 1, "both": self.rng.choice((2, 2, 3)), "none": 0}[form]
        if len(true) < count or len(false) < 3 - count:
            return None
        raws: list[Raw] = [self._ends(e) for e in (*true[:count], *false[: 3 - count])]
        return self._joint("find_edges", n, (), raws, count)

    def _mixed_pairs(self, pairs: Iterable[Pair]) -> list[Pair]:
        found = sorted(pairs)
        self.rng.shuffle(found)
        return found

    def _joint(
        self, template: str, n: int, query: tuple[str, ...], raws: list[Raw], true: int
    ) -> Question:
        """Three plain options, the first `true` of them right, and one about several or none."""
        plain = [Choice(raw) for raw in raws]
        if true >= 2:
            extra = Choice(tuple(raws[:true]), "both")
        elif true == 1 and self.rng.random() < 0.5:
            extra = Choice(tuple(raws[:2]), "both")
        else:
            extra = Choice("none", "none")
        correct = 0 if true == 1 else len(plain)
        return Question(template, (n,), query, (*plain, extra), correct)

    def _one_part(self) -> Question | None:
        n, parts, future = self._unassembled()
        hub = parts[0]
        near = self.world.product.neighbours(hub)
        true = [p for p in parts[1:] if pair(hub, p) in future]
        false = [p for p in parts[1:] if p not in near and pair(hub, p) not in self._begins]
        form = self.rng.choice(_FORMS)
        if form == "one":
            if not true or len(false) < 3:
                return None
            return self._question("1part", (n,), true[0], false[:3], (hub,))
        count = {"one of three": 1, "both": 2, "none": 0}[form]
        if len(true) < count or len(false) < 3 - count:
            return None
        raws: list[Raw] = [*true[:count], *false[: 3 - count]]
        return self._joint("1part", n, (hub,), raws, count)

    def _two_parts(self) -> Question | None:
        n, parts, future = self._unassembled()
        if self.rng.random() < 0.5:
            options = self._mixed_pairs(future)
            right, wrong = "Yes", "No"
        else:
            options = self._apart(parts)[:8]
            self.rng.shuffle(options)
            right, wrong = "No", "Yes"
        if not options:
            return None
        return self._question("2parts", (n,), right, [wrong], self._ends(options[0]))

    # Tracking -----------------------------------------------------------------------------------

    def _two_frames(self) -> tuple[int, int, list[str]] | None:
        """Two frames between which something was attached, and the parts visible in both."""
        frames = list(self.visible)
        if len(frames) < 2:
            return None
        a, b = self.rng.sample(frames, 2)
        if self.world.contacts(a) == self.world.contacts(b):
            return None
        return a, b, self._mixed(self.visible[a] & self.visible[b])

    def _jumble(self) -> dict[str, str]:
        """New numbers for Image B: in every look-alike group each part gets another one's."""
        shown: dict[str, str] = {}
        single = [g[0] for g in self.world.product.groups if len(g) == 1]
        for group in [*(g for g in self.world.product.groups if len(g) > 1), tuple(single)]:
            ids = self._mixed(group)
            for place, id in enumerate(ids):
                shown[id] = ids[(place + 1) % len(ids)]
        return dict(sorted(shown.items(), key=lambda entry: int(entry[0])))

    def _track_single(self) -> Question | None:
        drawn = self._two_frames()
        if drawn is None:
            return None
        a, b, both = drawn
        query = next((p for p in both if set(self.world.product.look_alikes(p)) & set(both)), None)
        if query is None:
            return None
        jumble = self._jumble()
        in_b = [p for p in self._mixed(self.visible[b]) if p != query]
        alike = [p for p in in_b if p in self.world.product.look_alikes(query)]
        others = [p for p in in_b if p not in alike]
        few = bool(alike) and self.rng.random() < 0.25
        wrong = [jumble[p] for p in (alike[:2] if few else [*alike, *others][:3])]
        if not few and len(wrong) < 3:
            return None
        return self._question("track_single", (a, b), jumble[query], wrong, (query,), jumble)

    def _track_multi(self) -> Question | None:
        drawn = self._two_frames()
        if drawn is None:
            return None
        a, b, both = drawn
        groups = [[p for p in both if p in g] for g in self.world.product.groups]
        alike = [g for g in groups if len(g) > 1]
        if not alike:
            return None
        first = self.rng.choice(alike)
        rest = [p for g in self.rng.sample(alike, len(alike)) if g is not first for p in g]
        rest += [g[0] for g in groups if len(g) == 1]
        parts = [*first, *rest][: self.rng.choice((3, 4))]
        if len(parts) < 3:
            return None
        jumble = self._jumble()
        right = tuple((p, jumble[p]) for p in parts)
        wrong: list[Raw] = []
        shown = {jumble[p] for p in self.visible[b]}
        if set(parts) <= shown:
            wrong.append(tuple((p, p) for p in parts))
        numbers = [jumble[p] for p in parts]
        for order in self._shuffles(numbers):
            matches = tuple(zip(parts, order, strict=True))
            if matches != right and matches not in wrong:
                wrong.append(matches)
            if len(wrong) == 3:
                return self._question("track_multi", (a, b), right, wrong, (), jumble)
        return None

    def _shuffles(self, items: list[str]) -> list[tuple[str, ...]]:
        """All orders of some items, those close to the given one first, ties at random."""
        orders = list(itertools.permutations(items))
        self.rng.shuffle(orders)
        return sorted(
            orders, key=lambda order: sum(a != b for a, b in zip(order, items, strict=True))
        )


def _key(question: Question) -> tuple[object, ...]:
    """What makes two questions the same one."""
    right = question.choices[question.correct].raw
    return (question.template, question.frames[:1], question.query, right)


def ask_many(
    world: World,
    visible: Mapping[int, Iterable[str]],
    count: int,
    rng: random.Random,
    letters: Letters | None = None,
    asked: Counter[str] | None = None,
) -> list[Question]:
    """Up to `count` different questions about a world, all thirteen templates in turn.

    Parameters
    ----------
    world
        The truth.
    visible
        For each frame that may be shown: the parts that can be made out in it.
    count
        Fewer come back when a world has not enough to ask about.
    rng, letters
        Source of chance, and the dealer of right letters.
    asked
        How often each template was asked before, in other worlds; it is updated. The template that
        is furthest behind its weight comes next.
    """
    asker = Asker(world, visible, rng)
    deal = letters or Letters(rng)
    seen = Counter() if asked is None else asked
    found: list[Question] = []
    keys: set[tuple[object, ...]] = set()
    open_templates = set(TEMPLATES)
    while len(found) < count and open_templates:
        template = min(
            (t for t in TEMPLATES if t in open_templates),
            key=lambda t: (seen[t] + 0.5) / WEIGHTS[t],
        )
        for _ in range(8):
            question = asker.ask(template)
            if question is None or _key(question) not in keys:
                break
        if question is None or _key(question) in keys:
            open_templates.discard(template)
            continue
        keys.add(_key(question))
        seen[template] += 1
        found.append(deal.shuffle(question))
    return found


def frames_to_show(
    world: World, visible: Mapping[int, Iterable[str]], count: int
) -> dict[int, frozenset[str]]:
    """The `count` frames to annotate: nothing moves in them, most parts show, states differ.

    For each state of the assembly the frame with the most visible parts is taken (the earliest of
    equals); of these, `count` are spread evenly over the session, the first state included.
    """
    best: dict[frozenset[Pair], tuple[int, frozenset[str]]] = {}
    for n, parts in sorted(visible.items()):
        if world.session.moving(float(n)):
            continue
        state, shown = world.contacts(float(n)), frozenset(parts)
        if state not in best or len(shown) > len(best[state][1]):
            best[state] = (n, shown)
    ordered = sorted(best.values())
    if not ordered:
        raise ValueError(f"{world.video_id}: no frame in which nothing moves")
    if len(ordered) > count:
        step = (len(ordered) - 1) / max(count - 1, 1)
        ordered = [ordered[round(k * step)] for k in range(count)]
    return dict(ordered)
