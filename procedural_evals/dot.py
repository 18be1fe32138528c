r"""The part of Graphviz' DOT language that task graphs need: one digraph of nodes and edges.

Read: quoted and bare names, attribute lists, edge chains, defaults and graph attributes (skipped),
comments. Refused with the place: undirected edges, subgraphs, ports, HTML labels. In a quoted text
`\"` is a quote, `\\` a backslash and `\n`, `\l`, `\r` a line break, as Graphviz draws a label.

Source of the grammar: https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

KEYWORDS = frozenset({"strict", "graph", "digraph", "subgraph", "node", "edge"})

_TOKEN = re.compile(
    r"""
      (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | \#[^\n]*)
    | (?P<edge>->)
    | (?P<quoted>"(?:[^"\\]|\\.)*")
    | (?P<bare>-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.]) | [^\W\d]\w*)
    | (?P<mark>[{}\[\];,=])
    """,
    re.VERBOSE | re.DOTALL,
)
_START = re.compile(r'(?:\bstrict\s+)?\bdigraph\b\s*(?:\w+|"[^"]*")?\s*\{', re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "l": "\n", "r": "\n", "\n": "", '"': '"', "\\": "\\"}


class DotGraph(NamedTuple):
    """Nodes with their attributes and edges, both in the order of their first mention."""

    nodes: dict[str, dict[str, str]]
    edges: list[tuple[str, str]]


class _Token(NamedTuple):
    kind: str  # "name", "keyword", "edge", a mark such as "{", or "end"
    text: str
    position: int


def quote(text: str) -> str:
    r"""The text as a quoted DOT string on one line.

    >>> print(quote('say "hi"'))
    "say \"hi\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _unquote(token: str) -> str:
    return _ESCAPE.sub(lambda m: _ESCAPED.get(m.group(1), m.group(0)), token[1:-1])


def _tokens(text: str, position: int) -> Iterator[_Token]:
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(_complaint(text, position, "is not read here"))
        kind, found = match.lastgroup, match.group()
        if kind == "quoted":
            yield _Token("name", _unquote(found), position)
        elif kind == "bare":
            keyword = found.casefold() in KEYWORDS
            yield _Token("keyword" if keyword else "name", found, position)
        elif kind != "skip":
            yield _Token(found, found, position)
        position = match.end()
    yield _Token("end", "", position)


def _complaint(text: str, position: int, problem: str) -> str:
    line = text.count("\n", 0, position) + 1
    excerpt = text[position : position + 30].split("\n")[0]
    return f"DOT, line {line}: {excerpt!r} {problem}"


class _Reader:
    """Recursive descent over the tokens, one token ahead."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.tokens = _tokens(text, position)
        self.token = next(self.tokens)
        self.graph = DotGraph({}, [])

    def take(self, kind: str, wanted: str) -> str:
        if self.token.kind != kind:
            raise self.error(f"found where {wanted} is needed")
        text = self.token.text
        self.token = next(self.tokens)
        return text

    def error(self, problem: str) -> ValueError:
        if self.token.kind == "end":
            return ValueError(
                f"DOT: the text ends too early: {problem.replace('found', 'it ends')}"
            )
        return ValueError(_complaint(self.text, self.token.position, problem))

    def read(self) -> int:
        """Fill the graph; returns the position after its closing brace."""
        if self.token.text.casefold() == "strict":
            self.token = next(self.tokens)
        if self.token.kind != "keyword" or self.token.text.casefold() != "digraph":
            raise self.error("found where 'digraph' is needed")
        self.token = next(self.tokens)
        if self.token.kind == "name":
            self.token = next(self.tokens)
        self.take("{", "'{'")
        while self.token.kind != "}":
            if self.token.kind == ";":
                self.token = next(self.tokens)
            else:
                self.statement()
        # Nothing after the brace is looked at: it may be prose.
        return self.token.position + 1

    def statement(self) -> None:
        if self.token.kind == "keyword":
            if self.token.text.casefold() not in {"graph", "node", "edge"}:
                raise self.error("is not read here: only nodes and edges are")
            self.token = next(self.tokens)
            self.attributes()
            return
        chain = [self.take("name", "a node's name")]
        if self.token.kind == "=":
            self.token = next(self.tokens)
            self.take("name", "a value")
            return
        while self.token.kind == "->":
            self.token = next(self.tokens)
            chain.append(self.take("name", "a node's name"))
        attributes = self.attributes()
        for name in chain:
            self.graph.nodes.setdefault(name, {})
        if len(chain) == 1:
            self.graph.nodes[chain[0]].update(attributes)
        self.graph.edges.extend(pairwise(chain))

    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self.token.kind == "[":
            self.token = next(self.tokens)
            while self.token.kind != "]":
                name = self.take("name", "an attribute or ']'")
                self.take("=", "'='")
                found[name.casefold()] = self.take("name", "a value")
                if self.token.kind in {",", ";"}:
                    self.token = next(self.tokens)
            self.token = next(self.tokens)
        return found


def read_dot(text: str) -> DotGraph:
    """The one digraph that the text is.

    Raises ValueError with the line when the text is anything else.

    >>> read_dot("digraph G { start; start -> a -> b }").edges
    [('start', 'a'), ('a', 'b')]
    """
    reader = _Reader(text, 0)
    rest = reader.read()
    for token in _tokens(text, rest):
        if token.kind != "end":
            raise ValueError(_complaint(text, token.position, "found after the end of the graph"))
    return reader.graph


def extract_dot(reply: str) -> str:
    r"""The last complete digraph in a reply that may hold other text around it.

    Raises ValueError when there is none, with the reason why the last attempt could not be read.

    >>> extract_dot("Sure: ```dot\ndigraph { a -> b }\n``` Done.")
    'digraph { a -> b }'
    """
    reason = "no 'digraph ... { ... }' in the text"
    for start in reversed([m.start() for m in _START.finditer(reply)]):
        try:
            return reply[start : _Reader(reply, start).read()]
        except ValueError as error:
            reason = str(error)
    raise ValueError(f"no graph found: {reason}")
