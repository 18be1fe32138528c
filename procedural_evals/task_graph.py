"""Task graphs: the steps of a procedure and which of them must come before which.

A task graph is a directed acyclic graph. A step may be done as soon as every step with an edge to
it is done (ProMQA-Assembly, arXiv 2509.02949, section 3.3). Steps have ids of their own, so that
two steps with the same label stay two steps.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from procedural_evals.dot import KEYWORDS, extract_dot, quote, read_dot

START = "start"
END = "end"
SCREW_MARK = " w/ screw"  # how a step that needs fastening is written in the benchmark's prompt

_ENDS = frozenset({START, END})
# Names that a plain DOT text must not use for a step: other readers lose or misread them.
_RESERVED = KEYWORDS | _ENDS

Edge = tuple[str, str]


class Step(NamedTuple):
    """One step: an id that is unique in its graph, what it says, and whether it needs a screw."""

    id: str
    label: str
    fastening: bool = False

    @property
    def text(self) -> str:
        """The label with the screw mark, as the benchmark's prompt writes it.

        >>> Step("1", "attach roof to cabin", fastening=True).text
        'attach roof to cabin w/ screw'
        """
        return self.label + SCREW_MARK if self.fastening else self.label


class Undo(NamedTuple):
    """In a history of performed steps: this step was taken apart again."""

    step: str


class OrderViolation(NamedTuple):
    """A performed step that came too early: its place in the history and what was missing."""

    position: int
    step: Step
    missing: tuple[Step, ...]


def _field(record: Mapping[str, Any], key: str, name: str) -> Any:
    if key not in record:
        raise ValueError(f"{name}: the record has no {key!r}, only {sorted(record)}")
    return record[key]


@dataclass(frozen=True)
class TaskGraph:
    """Steps, and edges (before, after) between their ids and the ends `"start"` and `"end"`.

    Edges are a relation: one that is given twice is kept once. `name` (the toy, the recipe) is for
    messages and takes no part in equality. Raises ValueError, with the name and the edge, for an
    edge that names no step, that enters `start` or leaves `end`, and for a cycle.

    >>> steps = [Step("1", "attach a"), Step("2", "attach b", fastening=True)]
    >>> graph = TaskGraph.from_steps(steps, [("1", "2")])
    >>> graph.edges
    (('1', '2'), ('start', '1'), ('2', 'end'))
    >>> [step.label for step in graph.next_steps(["attach a"])]
    ['attach b']
    """

    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]
    name: str = field(default="task graph", compare=False)

    def __post_init__(self) -> None:
        steps = tuple(Step(str(i), label, bool(fastening)) for i, label, fastening in self.steps)
        edges = tuple(dict.fromkeys((str(a), str(b)) for a, b in self.edges))
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "edges", edges)
        self._check_ids()
        self._check_edges()
        self._order  # noqa: B018  (raises when there is a cycle)

    # ---- construction -------------------------------------------------------------------------

    @classmethod
    def from_steps(
        cls, steps: Iterable[Step], precedence: Iterable[Edge], name: str = "task graph"
    ) -> TaskGraph:
        """The graph of these steps and pairs; start and end are joined to its sources and sinks."""
        kept, pairs = tuple(steps), tuple((str(a), str(b)) for a, b in precedence)
        befores, afters = {a for a, _ in pairs}, {b for _, b in pairs}
        ends = [(START, str(s.id)) for s in kept if str(s.id) not in afters]
        ends += [(str(s.id), END) for s in kept if str(s.id) not in befores]
        return cls(kept, (*pairs, *ends), name)

    @classmethod
    def from_assembly(cls, record: Mapping[str, Any]) -> TaskGraph:
        """A graph of ProMQA-Assembly: toy_id, nodes, edges.

        A node holds its values itself or under `data`. The nodes `0` and
        `100` are start and end; `checked` says that a step needs a screw.
        """
        name = f"toy {record.get('toy_id', '(without a toy_id)')}"
        steps: list[Step] = []
        renamed: dict[str, str] = {}
        for node in _field(record, "nodes", name):
            values = node.get("data") or node
            key, label = str(node["id"]), values.get("label")
            if not isinstance(label, str):
                raise ValueError(f"{name}: node {key} has the label {label!r}; a text is needed")
            if key in {"0", "100"}:
                renamed[key] = START if key == "0" else END
                if label.casefold() not in _ENDS:
                    raise ValueError(f"{name}: node {key} is {renamed[key]}, but says {label!r}")
            else:
                steps.append(Step(key, label, bool(values.get("checked"))))
        pairs = (
            (str(edge["source"]), str(edge["target"])) for edge in _field(record, "edges", name)
        )
        return cls._renamed(steps, pairs, renamed, name)

    @classmethod
    def from_cooking(cls, record: Mapping[str, Any]) -> TaskGraph:
        """A graph of ProMQA (cooking): name, steps {id: text}, edges [from, to]; START and END."""
        name = f"recipe {record.get('name', '(without a name)')}"
        texts = {str(key): text for key, text in _field(record, "steps", name).items()}
        renamed = {k: t.casefold() for k, t in texts.items() if t in {"START", "END"}}
        steps = [Step(key, text) for key, text in texts.items() if key not in renamed]
        pairs = ((str(a), str(b)) for a, b in _field(record, "edges", name))
        return cls._renamed(steps, pairs, renamed, name)

    @classmethod
    def _renamed(
        cls, steps: list[Step], pairs: Iterable[Edge], renamed: Mapping[str, str], name: str
    ) -> TaskGraph:
        edges = tuple((renamed.get(a, a), renamed.get(b, b)) for a, b in pairs)
        return cls(tuple(steps), edges, name)

    @classmethod
    def from_dot(cls, text: str, name: str = "task graph") -> TaskGraph:
        """Read a DOT text; the names of its nodes become the ids of the steps.

        A node without a label attribute is named by its label. A label that ends in the screw mark
        is a step that needs a screw. `start` and `end`, in any case, are the two ends. A node that
        only an edge names is a node, as in Graphviz.

        >>> TaskGraph.from_dot('digraph G { start -> "attach a w/ screw" -> end }').steps[0].label
        'attach a'
        """
        dot = read_dot(text)
        renamed = {node: node.casefold() for node in dot.nodes if node.casefold() in _ENDS}
        steps = []
        for node, attributes in dot.nodes.items():
            if node not in renamed:
                label = attributes.get("label", node)
                fastening = label.endswith(SCREW_MARK) and attributes.get("screw") != "false"
                steps.append(Step(node, label.removesuffix(SCREW_MARK * fastening), fastening))
        return cls._renamed(steps, dot.edges, renamed, name)

    @classmethod
    def from_reply(cls, reply: str, name: str = "task graph") -> TaskGraph:
        """Read the last complete digraph of a model's reply; ValueError when there is none."""
        return cls.from_dot(extract_dot(reply), name)

    def to_dot(self, ids: bool = False) -> str:
        """The graph as DOT, in the order of its steps and edges.

        The form is that of figure 11 of the paper: a step is named by its label, a screw is marked.
        Where that would lose a step (equal or empty labels, or one that is a word of the language),
        or with `ids=True`, every step is named by its id and carries its label as an attribute.

        >>> print(TaskGraph.from_steps([Step("1", "attach a", True)], []).to_dot())
        digraph G {
        start;
        end;
        "attach a w/ screw";
        start -> "attach a w/ screw";
        "attach a w/ screw" -> end;
        }
        """
        by_id = ids or not self._labels_can_name()
        names = {START: START, END: END}
        lines = [f"{START};", f"{END};"]
        for step in self.steps:
            names[step.id] = quote(step.id if by_id else step.text)
            attributes = ""
            if by_id:
                bluff = not step.fastening and step.label.endswith(SCREW_MARK)
                attributes = f" [label={quote(step.text)}{', screw=false' if bluff else ''}]"
            lines.append(f"{names[step.id]}{attributes};")
        lines += [f"{names[a]} -> {names[b]};" for a, b in self.edges]
        return "\n".join(["digraph G {", *lines, "}"])

    def _labels_can_name(self) -> bool:
        labels = [step.label for step in self.steps]
        return len(set(labels)) == len(labels) and not any(
            not step.label.strip()
            or step.label.strip().casefold() in _RESERVED
            or step.label.endswith(SCREW_MARK)
            for step in self.steps
        )

    # ---- validation ---------------------------------------------------------------------------

    def _check_ids(self) -> None:
        for step in self.steps:
            if not step.id or step.id.casefold() in _ENDS:
                raise ValueError(
                    f"{self.name}: a step has the id {step.id!r}; ids are not empty, and "
                    f"{START!r} and {END!r} are kept for the ends of the graph"
                )
            if not isinstance(step.label, str):
                raise ValueError(f"{self.name}: step {step.id} has the label {step.label!r}")
        twice = [i for i, n in Counter(step.id for step in self.steps).items() if n > 1]
        if twice:
            raise ValueError(f"{self.name}: two steps have the id {twice[0]!r}")

    def _check_edges(self) -> None:
        known = self._by_id.keys() | _ENDS
        for before, after in self.edges:
            edge = f"{self.name}: edge {before!r} -> {after!r}"
            for end in (before, after):
                if end not in known:
                    raise ValueError(f"{edge} names {end!r}, which is no step")
            if after == START or before == END:
                raise ValueError(f"{edge}: nothing comes before {START!r} or after {END!r}")

    def _some_cycle(self, among: set[str]) -> list[str]:
        """The nodes of one cycle, its first node repeated at the end."""
        node = next(step.id for step in self.steps if step.id in among)
        path: list[str] = []
        while node not in path:
            path.append(node)
            # Each node that the sorting left over has a predecessor that it left over too.
            node = next(before for before in self._before[node] if before in among)
        return [*path[path.index(node) :], node][::-1]

    # ---- structure ----------------------------------------------------------------------------

    @cached_property
    def _by_id(self) -> dict[str, Step]:
        return {step.id: step for step in self.steps}

    @cached_property
    def _names(self) -> dict[str, list[Step]]:
        names: dict[str, list[Step]] = {}
        for step in self.steps:
            for text in dict.fromkeys((step.label, step.text)):
                names.setdefault(text, []).append(step)
        return names

    @cached_property
    def _before(self) -> dict[str, list[str]]:
        before: dict[str, list[str]] = {node: [] for node in (START, *self._by_id, END)}
        for a, b in self.edges:
            before[b].append(a)
        return before

    @cached_property
    def _order(self) -> tuple[str, ...]:
        """Every node, each after all that come before it; ties in the graph's own order."""
        rank = {node: n for n, node in enumerate(self._before)}
        waiting = {node: len(before) for node, before in self._before.items()}
        after: dict[str, list[str]] = {node: [] for node in rank}
        for a, b in self.edges:
            after[a].append(b)
        ready = [(rank[node], node) for node, n in waiting.items() if n == 0]
        heapq.heapify(ready)
        order: list[str] = []
        while ready:
            _, node = heapq.heappop(ready)
            order.append(node)
            for following in after[node]:
                waiting[following] -= 1
                if waiting[following] == 0:
                    heapq.heappush(ready, (rank[following], following))
        if len(order) < len(rank):
            cycle = self._some_cycle(set(rank) - set(order))
            raise ValueError(
                f"{self.name}: edge {cycle[0]!r} -> {cycle[1]!r} is part of the cycle "
                f"{' -> '.join(cycle)}; a task graph has none"
            )
        return tuple(order)

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for node in self._order:
            direct = self._before[node]
            found[node] = frozenset(direct).union(*(found[before] for before in direct))
        return found

    @property
    def precedence(self) -> tuple[Edge, ...]:
        """The edges between steps, without those of start and end."""
        return tuple(edge for edge in self.edges if not _ENDS.intersection(edge))

    def topological_order(self) -> tuple[Step, ...]:
        """All steps, each after those that must come before it; ties in the graph's own order."""
        return tuple(self._by_id[node] for node in self._order if node not in _ENDS)

    def closure(self) -> frozenset[Edge]:
        """All pairs (before, after) of step ids that the edges imply."""
        return frozenset(
            (before, step.id)
            for step in self.steps
            for before in self._ancestors[step.id]
            if before not in _ENDS
        )

    def reduction(self) -> TaskGraph:
        """The graph without the edges that longer paths imply."""
        needed = tuple(
            (a, b)
            for a, b in self.edges
            if not any(a in self._ancestors[other] for other in self._before[b] if other != a)
        )
        return TaskGraph(self.steps, needed, self.name)

    def step_dependency(self) -> float:
        """Edges between steps over all edges, in [0, 1] (paper, section 3.4).

        Raises ValueError for a graph without edges.
        """
        if not self.edges:
            raise ValueError(f"{self.name}: no edges, so no share of them")
        return len(self.precedence) / len(self.edges)

    # ---- queries ------------------------------------------------------------------------------

    def resolve(self, step: str) -> Step:
        """The step with this id, or with this label (with or without the screw mark).

        Raises ValueError when there is none, or when several have the label: then use an id.
        """
        if step in self._by_id:
            return self._by_id[step]
        found = self._names.get(step, [])
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(repr(s.id) for s in found)
            raise ValueError(f"{self.name}: {len(found)} steps say {step!r}; give an id: {ids}")
        raise ValueError(f"{self.name}: {step!r} is neither a step's id nor its label")

    def knows(self, step: str) -> bool:
        """Whether `resolve` finds this step."""
        return step in self._by_id or len(self._names.get(step, [])) == 1

    def _missing(self, needed: Iterable[str], done: set[str]) -> tuple[Step, ...]:
        lacking = set(needed) - done
        return tuple(step for step in self.steps if step.id in lacking)

    def _ids(self, steps: Iterable[str]) -> set[str]:
        if isinstance(steps, str):
            raise ValueError(f"{self.name}: {steps!r} is one text; give a list of steps")
        return {self.resolve(step).id for step in steps}

    def next_steps(self, done: Iterable[str]) -> tuple[Step, ...]:
        """The steps (ids or labels are given) that may come next, in the graph's order.

        A step may come next when it is not done and every step with an edge to it is.
        """
        finished = self._ids(done)
        return tuple(
            step
            for step in self.steps
            if step.id not in finished and not self._missing(self._before[step.id], finished)
        )

    def missing_before(self, step: str, done: Iterable[str]) -> tuple[Step, ...]:
        """All steps, near or far, that must come before this one and are not done.

        `"end"` asks what is left before the procedure is finished.
        """
        node = END if step == END else self.resolve(step).id
        return self._missing(self._ancestors[node], self._ids(done))

    def _events(
        self, performed: Iterable[str | Undo], skip_unknown: bool
    ) -> Iterator[tuple[int, Step, bool]]:
        """Position in the history, step, and whether it was taken apart."""
        if isinstance(performed, str):
            raise ValueError(f"{self.name}: {performed!r} is one text; give a list of steps")
        for position, item in enumerate(performed):
            undone = isinstance(item, Undo)
            name = item.step if isinstance(item, Undo) else item
            if not skip_unknown or self.knows(name):
                yield position, self.resolve(name), undone

    def order_violations(
        self, performed: Iterable[str | Undo], skip_unknown: bool = False
    ) -> tuple[OrderViolation, ...]:
        """The performed steps that came before a step with an edge to them.

        `performed` is the history in time, of ids or labels, `Undo` where a step was taken apart
        again. `missing` holds the direct prerequisites that were not done at that moment: a step
        after a misplaced one is not blamed for what the misplaced one lacked. With `skip_unknown`,
        what the graph does not know is passed over instead of a ValueError.
        """
        violations: list[OrderViolation] = []
        done: set[str] = set()
        for position, step, undone in self._events(performed, skip_unknown):
            if undone:
                done.discard(step.id)
                continue
            missing = self._missing(self._before[step.id], done)
            if missing:
                violations.append(OrderViolation(position, step, missing))
            done.add(step.id)
        return tuple(violations)

    def done_after(
        self, performed: Iterable[str | Undo], skip_unknown: bool = False
    ) -> tuple[Step, ...]:
        """The steps that are in place after this history, in the graph's order."""
        place: dict[str, bool] = {}
        for _, step, undone in self._events(performed, skip_unknown):
            place[step.id] = not undone
        return tuple(step for step in self.steps if place.get(step.id, False))
