"""How much a template makes of what it is given, told from its syntax: how long each value may become, and how many steps it takes.

Jinja works out what is constant in a template as soon as it is compiled, so a chain of filters that each double a text would stop
Home Assistant before anybody has agreed to anything. Lengths are upper bounds; what a state or an attribute holds is taken for short.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import re
from typing import Any

from jinja2 import nodes

from .template_patterns import MAX_PATTERN, is_slow

MOST_CHARACTERS = 1_000_000
"""Of one value."""
MOST_WORK = 1_000_000
"""Steps of one configuration; about a second."""
MOST_PARTS = 12_000
"""Of all templates of one configuration; they are compiled where nothing else happens meanwhile."""
MAX_LEVELS = 60
"""Of an expression."""
MAX_NODES = 4_000
_PARTS_OF_EACH = 30.0
_CHARACTERS_A_STEP = 50
_MOST_VISITED = 50_000
_UNKNOWN_CHARACTERS, _UNKNOWN_ITEMS, _STATE_CHARACTERS = 500.0, 100.0, 255.0
_USUAL_CHARACTERS = 100.0  # of what is searched with a pattern
_UNKNOWN_REPEATS, _UNKNOWN_RANGE, _LIVE_RANGE = 10_000.0, 100_000.0, 1_000.0
_MOST_REPEATS = 100_000.0  # of what may be a number or a list
_MOST_DIGITS = 100.0
_MOST_TEXTS = 16
_ROUNDS = 3  # of a loop that are looked at

TOO_LONG = "a value that grows with each step"
TOO_MANY = "too many steps"
TOO_DEEP = f"an expression with more than {MAX_LEVELS} levels or {MAX_NODES} parts"
PATTERN = (
    f"a regular expression that may take long: write it out, at most {MAX_PATTERN} characters, with nothing repeated and no | inside of "
    "what is repeated, and no backreference"
)
FORMAT = "a format that is worked out or fills up: write it out"
CALLS = "a macro that calls itself, or what it is given"

_PATTERNS: Mapping[str, bool] = {
    "match": True, "regex_match": True, "search": False, "regex_search": False, "regex_replace": False, "regex_findall": False,
    "regex_findall_index": False,
}  # fmt: skip
"""Filters and tests with a regular expression; whether it begins where the text begins."""
_BY_NAME = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Filters that apply another one, and the place of its name."""
_FORMATS = {
    "%": 0, "format": 0, "format_map": 0, "pack": 1, "strftime": 1, "timestamp_custom": 1, "unpack": 1,
}  # fmt: skip
"""What takes a format, and which argument it is, the value itself being the first."""
_FILLS = re.compile(r"%[^a-zA-Z%]*(\d{4,}|\*)|\{[^{}]*(\d{4,}|\{)")
_FILLS_BYTES = re.compile(r"\d{4,}")
_TO_NUMBERS = frozenset(
    {
        "abs", "as_timestamp", "average", "bool", "count", "float", "has_value", "int", "is_number", "is_state", "is_state_attr", "length",
        "median", "ord", "regex_match", "regex_search", "round", "bitwise_and", "bitwise_or", "bitwise_xor", "distance", "wordcount",
    }
)  # fmt: skip
_SAME = frozenset(
    {
        "attr", "base64_decode", "bool", "capitalize", "default", "d", "dictsort", "distinct", "first", "flatten", "from_json", "iif", "items",
        "keys", "last", "list", "lower", "lstrip", "map", "max", "min", "regex_findall", "regex_findall_index", "reject", "rejectattr",
        "removeprefix", "removesuffix", "reverse", "rsplit", "rstrip", "safe", "select", "selectattr", "set", "shuffle", "sort", "split",
        "splitlines", "statistical_mode", "strip", "striptags", "sum", "title", "trim", "tuple", "unique", "upper", "values", "get",
        "partition", "rpartition", "swapcase", "casefold", "slugify", "random", "md5", "sha1", "sha256", "sha512", "as_datetime", "as_local", "as_timedelta",
        "timestamp_local", "timestamp_utc", "ordinal", "contains", "typeof", "multiply", "add",
    }
)  # fmt: skip
_TO_LISTS = frozenset({"list", "set", "tuple", "sort", "unique", "reverse", "shuffle", "split", "items", "splitlines"})
_TO_TEXTS = frozenset({"lower", "upper", "trim", "title", "capitalize", "strip", "slugify"})
_TIMES: Mapping[str, float] = {
    "base64_encode": 1.4, "urlencode": 12.0, "tojson": 6.0, "to_json": 6.0, "escape": 6.0, "e": 6.0, "forceescape": 6.0, "urlize": 20.0,
    "pprint": 8.0, "encode": 4.0, "hex": 2.0, "groupby": 2.0, "xmlattr": 8.0, "filesizeformat": 1.0,
}  # fmt: skip
_OTHERS = 4.0  # of what is not known
_OF_STATES = frozenset({"states", "state_translated"})
_OF_SEPARATORS = frozenset({"join"})
"""Methods of a text that stands between others."""


class GrowsTooMuch(Exception):
    """A template may take too much; the text says why."""


@dataclass(frozen=True, slots=True)
class _Value:
    """What is known of a value."""

    size: float
    """Characters, of a list those of all items."""
    kind: str = ""
    """`text`, `number`, `float` or `list`; empty: any."""
    number: float | None = None
    """The largest that it may be."""
    texts: frozenset[str] | None = None
    """All texts that it may be; None if they are not known."""
    items: float = _UNKNOWN_ITEMS
    item: float = _STATE_CHARACTERS
    is_live: bool = False
    """It depends on what is known only while it runs."""

    def joined(self, other: _Value) -> _Value:
        """Return what either may be."""
        texts = None if self.texts is None or other.texts is None else self.texts | other.texts
        return _Value(
            max(self.size, other.size),
            self.kind if self.kind == other.kind else "",
            None if self.number is None or other.number is None else max(self.number, other.number),
            texts if texts is not None and len(texts) <= _MOST_TEXTS else None,
            max(self.items, other.items),
            max(self.item, other.item),
            self.is_live or other.is_live,
        )


_ANY = _Value(_UNKNOWN_CHARACTERS, is_live=True)
_NUMBER = _Value(20.0, "number", is_live=True)
_FLOAT = _Value(24.0, "float")
_FLAG = _Value(5.0, "number", 1.0)


def work_of(tree: nodes.Template) -> float:
    """Return how many steps a template takes at most. Raises `GrowsTooMuch`."""
    parts_of(tree)
    walk = _Growth(tree)
    try:
        walk.body(tree.body)
    except RecursionError as err:
        raise GrowsTooMuch(TOO_DEEP) from err
    return walk.work


def has_loops(tree: nodes.Template) -> bool:
    """Return whether a template goes through something step by step, or has macros."""
    return next(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock)), None) is not None


def parts_of(tree: nodes.Template) -> float:
    """Return for how long a template is compiled, in hundredths of a millisecond. Raises `GrowsTooMuch`.

    At each part of an expression, Jinja tries whether what is in it is constant.
    """
    order: list[tuple[nodes.Node, int]] = [(tree, -1)]
    levels = [0]
    for place, (node, _) in enumerate(order):
        for child in node.iter_child_nodes():
            order.append((child, place))
            levels.append(levels[place] + 1)
        if levels[-1] > MAX_LEVELS or len(order) > MAX_NODES:
            raise GrowsTooMuch(TOO_DEEP)
    heights = [1.0] * len(order)
    for place in range(len(order) - 1, 0, -1):
        node, above = order[place]
        if isinstance(node, nodes.Expr):
            heights[above] = max(heights[above], heights[place] + 1)
    return _PARTS_OF_EACH + sum(heights)


class _Growth:
    """One walk through a template, in the order in which it runs."""

    def __init__(self, tree: nodes.Template) -> None:
        self.work = 0.0
        self._visited = 0
        self._times = 1.0
        self._is_counting = True
        self._is_sure = True
        self._known: dict[str, _Value] = {}
        self._macros: dict[str, nodes.Macro] = {node.name: node for node in tree.find_all(nodes.Macro)}
        self._running: list[str] = []
        self._caller: list[float] = []
        called = {id(node.node) for node in tree.find_all(nodes.Call)}
        self._passes_macros = any(
            node.name in self._macros and node.ctx == "load" and id(node) not in called
            for node in tree.find_all(nodes.Name)
        )

    def _step(self, size: float = 0.0) -> None:
        self._visited += 1
        if size > MOST_CHARACTERS:
            raise GrowsTooMuch(TOO_LONG)
        if self._is_counting:
            self.work += self._times * (1.0 + size / _CHARACTERS_A_STEP)
        if self._visited > _MOST_VISITED or self.work > MOST_WORK:
            raise GrowsTooMuch(TOO_MANY)

    # Statements: how many characters they write.

    def body(self, several: Iterable[nodes.Node]) -> float:
        """Return how many characters statements write."""
        return sum(map(self._statement, several), 0.0)

    def _statement(self, node: nodes.Node) -> float:
        self._step()
        match node:
            case nodes.Output():
                return sum((self._written(item) for item in node.nodes), 0.0)
            case nodes.Assign():
                self._assign(node.target, self.of(node.node))
                return 0.0
            case nodes.AssignBlock():
                written = _Value(self.body(node.body), "text", is_live=True)
                self._assign(node.target, self._filtered(node.filter, written) if node.filter else written)
                return 0.0
            case nodes.If():
                return self._branches(node)
            case nodes.For():
                return self._loop(node)
            case nodes.FilterBlock():
                found = self._filtered(node.filter, _Value(self.body(node.body), "text", is_live=True)).size
                self._step(found)
                return found
            case nodes.Block():
                raise GrowsTooMuch(CALLS)
        return self._other_statement(node)

    def _other_statement(self, node: nodes.Node) -> float:
        match node:
            case nodes.CallBlock():
                self._caller.append(self.body(node.body))
                found = self.of(node.call).size
                self._caller.pop()
                return found
            case nodes.Macro():
                self._known.pop(node.name, None)  # what is in it counts where it is called
            case nodes.With():
                for target, value in zip(node.targets, node.values, strict=True):
                    self._assign(target, self.of(value))
                return self.body(node.body)
            case nodes.ExprStmt():
                self.of(node.node)
            case nodes.Scope() | nodes.ScopedEvalContextModifier():
                return self.body(node.body)
            case _:
                for child in node.iter_child_nodes():
                    if isinstance(child, nodes.Expr):
                        self.of(child)
        return 0.0

    def _written(self, node: nodes.Node) -> float:
        if isinstance(node, nodes.TemplateData):
            self._step(len(node.data))
            return float(len(node.data))
        return self.of(node).size

    def _branches(self, node: nodes.If) -> float:
        was, self._is_sure = self._is_sure, False
        self.of(node.test)
        found = [self.body(node.body)]
        found += [self._branches(other) for other in node.elif_]
        found.append(self.body(node.else_))
        self._is_sure = was
        return max(found)

    def _loop(self, node: nodes.For) -> float:
        """Return how much a loop writes: a few rounds are looked at, and what grows there grows further."""
        given = self.of(node.iter)
        count = given.items
        was_times, was_counting, was_sure = self._times, self._is_counting, self._is_sure
        names = {key: value for key, value in self._known.items() if "." not in key}
        self._is_sure = False
        sizes: list[dict[str, float]] = []
        written = 0.0
        for number in range(_ROUNDS + 1):
            is_last = number == _ROUNDS
            if is_last:
                self._extrapolate(sizes, count)
            self._is_counting = was_counting and is_last
            self._times = was_times * max(1.0, count)
            self._step()
            fields = {key: value for key, value in self._known.items() if "." in key}
            self._known = {**names, **fields}
            number_of = given.number if given.kind == "list" else None
            kind = "number" if number_of is not None else ""
            self._assign(node.target, _Value(given.item, kind, number_of, is_live=given.is_live))
            if node.test is not None:
                self.of(node.test)
            written = self.body(node.body)
            sizes.append({key: value.size for key, value in self._known.items() if "." in key})
        fields = {key: value for key, value in self._known.items() if "." in key}
        self._known = {**names, **fields}
        self._times, self._is_counting, self._is_sure = was_times, was_counting, was_sure
        written = max(written * count, self.body(node.else_))
        self._step(written)
        return written

    def _extrapolate(self, sizes: Sequence[Mapping[str, float]], count: float) -> None:
        for key, last in sizes[-1].items():
            first, second = (sizes[place].get(key, last) for place in (-3, -2))
            growth, before = last - second, second - first
            value = self._known[key]
            if growth <= 0:
                continue
            size = last + growth * count
            if growth > before * 1.01 + 1 and count > _ROUNDS:
                size = MOST_CHARACTERS + 1.0 if count > 20 else last * (last / max(second, 1.0)) ** count
            if size > MOST_CHARACTERS:
                raise GrowsTooMuch(TOO_LONG)
            items = value.items + count * max(1.0, growth)
            self._known[key] = replace(value, size=size, items=min(items, size), number=None, texts=None)

    def _assign(self, target: nodes.Node, value: _Value) -> None:
        match target:
            case nodes.Name():
                key = target.name
            case nodes.NSRef():
                key = f".{target.attr}"  # of whichever namespace: it may have several names
            case nodes.Tuple():
                for item in target.items:
                    self._assign(item, replace(_ANY, size=max(value.size, value.item)))
                return
            case _:
                return
        earlier = self._known.get(key)
        is_other = self._is_sure and "." not in key
        self._known[key] = value if is_other or earlier is None else earlier.joined(value)

    def _field(self, inner: _Value, name: str | None) -> _Value:
        """Return what a namespace has under a name, or any of it; of what is none, a part."""
        fields = {key: value for key, value in self._known.items() if "." in key}
        if inner.kind or not fields:
            return _part_of(inner)
        if name is not None:
            return fields.get(f".{name}", _part_of(inner))
        found = _part_of(inner)
        for value in fields.values():
            found = found.joined(value)
        return found

    # Expressions: what may come out of them.

    def of(self, node: nodes.Node | None) -> _Value:
        """Return what is known of the value of an expression. Raises `GrowsTooMuch`."""
        if node is None:
            return _FLAG
        found = self._of(node)
        self._step(found.size)
        return found

    def _of(self, node: nodes.Node) -> _Value:
        match node:
            case nodes.Const():
                return _of_constant(node.value)
            case nodes.TemplateData():
                return _of_constant(node.data)
            case nodes.List() | nodes.Tuple():
                return _of_items([self.of(item) for item in node.items])
            case nodes.Dict():
                return _of_items([self.of(part) for pair in node.items for part in (pair.key, pair.value)])
            case nodes.Name():
                return self._known.get(node.name, _ANY)
            case nodes.Getattr():
                return self._field(self.of(node.node), node.attr)
            case nodes.Getitem():
                inner, arg = self.of(node.node), self.of(node.arg)
                if isinstance(node.arg, nodes.Slice) or inner.kind == "text":
                    return replace(inner, texts=None)
                return self._field(inner, next(iter(arg.texts)) if arg.texts and len(arg.texts) == 1 else None)
            case nodes.CondExpr():
                self.of(node.test)
                return self.of(node.expr1).joined(self.of(node.expr2))
            case nodes.And() | nodes.Or():
                return self.of(node.left).joined(self.of(node.right))
        return self._of_operator(node)

    def _of_operator(self, node: nodes.Node) -> _Value:
        match node:
            case nodes.Concat():
                return _together([self.of(item) for item in node.nodes])
            case nodes.Add():
                return _sum_of(self.of(node.left), self.of(node.right))
            case nodes.Mul():
                return _product_of(self.of(node.left), self.of(node.right))
            case nodes.Mod():
                left, right = self.of(node.left), self.of(node.right)
                return self._formatted("%", left, [right]) if left.kind == "text" else replace(_NUMBER, is_live=True)
            case nodes.Pow():
                left, right = self.of(node.left), self.of(node.right)
                return replace(_NUMBER, size=left.size * max(1.0, min(right.number or 4.0, 64.0)))
            case nodes.Sub() | nodes.Div() | nodes.FloorDiv():
                left, right = self.of(node.left), self.of(node.right)
                kind = "float" if isinstance(node, nodes.Div) or "float" in (left.kind, right.kind) else "number"
                return _Value(max(left.size, right.size) + 1, kind, left.number, is_live=left.is_live or right.is_live)
            case nodes.Neg() | nodes.Pos():
                return self.of(node.node)
        return self._of_call(node)

    def _of_call(self, node: nodes.Node) -> _Value:
        match node:
            case nodes.Filter():
                return self._filtered(node, None)
            case nodes.Test():
                self._applied(node.name, self.of(node.node), node.args, node.kwargs)
                return _FLAG
            case nodes.Call():
                return self._called(node)
        for child in node.iter_child_nodes():
            self.of(child)
        return _FLAG if isinstance(node, (nodes.Compare, nodes.Not)) else _ANY

    def _filtered(self, node: nodes.Filter, given: _Value | None) -> _Value:
        """Return what a filter makes of what stands before it; `given` is what a block has written."""
        value = self.of(node.node) if node.node is not None else given or _ANY
        return self._applied(node.name, value, node.args, node.kwargs)

    def _applied(self, name: str, value: _Value, args: Sequence[nodes.Node], kwargs: Sequence[Any]) -> _Value:
        """Return what a filter, a test or a method makes of a value."""
        given = [self.of(one) for one in args]
        named = {one.key: self.of(one.value) for one in kwargs}
        if (place := _BY_NAME.get(name)) is not None and len(given) > place:
            return self._applied_to_items(name, value, given[place], given[place + 1 :], named)
        return self._made(name, value, given, named)

    def _applied_to_items(
        self, name: str, value: _Value, called: _Value, given: Sequence[_Value], named: Mapping[str, _Value]
    ) -> _Value:
        if called.texts is None:
            raise GrowsTooMuch(PATTERN)
        found = [self._made(one, replace(value, texts=None), given, named) for one in sorted(called.texts)]
        if name != "map" or not found:
            return value
        size = max([value.size, *(one.size for one in found)])
        return replace(value, size=size, item=min(size, value.item * max(1.0, size / max(value.size, 1.0))))

    def _made(self, name: str, value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> _Value:
        every = [*given, *named.values()]
        is_live = value.is_live or any(one.is_live for one in every)
        if name in _PATTERNS:
            self._check_pattern(name, value, named.get("find", given[0] if given else None))
        if name in _FORMATS:
            return self._formatted(name, value, [*given, *named.values()])
        if name in ("apply", "as_function") and self._running:
            raise GrowsTooMuch(CALLS)
        if name == "round" and _is_too_exact(_argument(given, named, 0, "precision")):
            raise GrowsTooMuch(TOO_LONG)
        if name in _TO_NUMBERS:
            return _number_of(name, value, is_live=is_live)
        largest = max((one.number or 0.0 for one in every), default=0.0)
        beside = sum((one.size for one in every), 0.0)
        unknown = any(one.kind in ("number", "float") and one.number is None for one in every)
        if (maker := _MAKERS.get(name)) is not None:
            size = maker(value, [*given], named)
        elif name in _SAME:
            size = value.size + beside
        else:
            size = value.size * _TIMES.get(name, _OTHERS) + beside + 20
            if name not in _TIMES:
                size += largest + (_UNKNOWN_REPEATS if unknown else 0.0)
        kind = "list" if name in _TO_LISTS else "text" if name in _TO_TEXTS or name not in _SAME else ""
        item = 1.0 if kind == "list" and value.kind == "text" else max(value.item, size if kind != "list" else 0.0)
        return _Value(size, kind, value.number if kind == "list" else None, None, _items_of(value), item, is_live)

    def _check_pattern(self, name: str, value: _Value, pattern: _Value | None) -> None:
        texts = None if pattern is None else pattern.texts
        size = min(value.size, _USUAL_CHARACTERS) if value.is_live else value.size
        if texts is None or any(is_slow(one, size, is_anchored=_PATTERNS[name]) for one in texts):
            raise GrowsTooMuch(PATTERN)

    def _formatted(self, name: str, value: _Value, given: Sequence[_Value]) -> _Value:
        every = [value, *given]
        place = _FORMATS[name]
        form = every[place] if place < len(every) else _of_constant("")
        if form.texts is None and (form.kind == "text" or not form.is_live):
            raise GrowsTooMuch(FORMAT)
        fills = _FILLS_BYTES if name in ("pack", "unpack") else _FILLS
        if any(map(fills.search, form.texts or ())):
            raise GrowsTooMuch(FORMAT)
        longest = max((one.size for one in given), default=0.0)
        size = form.size + value.size + (form.size / 2) * longest + 1000 * len(form.texts or ())
        return _Value(size, "text", is_live=any(one.is_live for one in every))

    def _called(self, node: nodes.Call) -> _Value:
        args, kwargs = node.args, node.kwargs
        rest = [self.of(one) for one in (node.dyn_args, node.dyn_kwargs) if one is not None]
        match node.node:
            case nodes.Name(name=name) if name in self._macros:
                return self._of_macro(self._macros[name], args, kwargs)
            case nodes.Name(name="caller"):
                return _Value(self._caller[-1] if self._caller else _UNKNOWN_CHARACTERS, "text", is_live=True)
            case nodes.Name(name=name) if self._running and name in self._known:
                raise GrowsTooMuch(CALLS)
            case nodes.Name(name=name):
                return self._of_function(name, args, kwargs)
            case nodes.Getattr(node=inner, attr=name):
                if self._running and self._passes_macros:
                    raise GrowsTooMuch(CALLS)
                if name in _OF_SEPARATORS:  # the text that it is called of stands between the others
                    return self._made("join", self.of(args[0]) if args else _ANY, [self.of(inner)], {})
                return self._applied(name, self.of(inner), args, kwargs)
        if self._macros:
            raise GrowsTooMuch(CALLS)
        self.of(node.node)
        every = [*rest, *(self.of(one) for one in args), *(self.of(one.value) for one in kwargs)]
        return replace(_ANY, size=_UNKNOWN_CHARACTERS + sum(one.size for one in every))

    def _of_function(self, name: str, args: Sequence[nodes.Expr], kwargs: Sequence[nodes.Keyword]) -> _Value:
        if name == "range":
            return _of_range([self.of(one) for one in args])
        if name == "namespace":
            if args:
                raise GrowsTooMuch(TOO_LONG)
            for pair in kwargs:
                self._assign(nodes.NSRef("", pair.key), self.of(pair.value))
            return _ANY
        if name in _OF_STATES:
            for one in args:
                self.of(one)
            return _Value(_STATE_CHARACTERS, "text", is_live=True)
        if name == "lipsum":
            raise GrowsTooMuch(TOO_LONG)
        given, others = [*args], [*kwargs]
        first = self.of(given.pop(0)) if given else _ANY
        if not args and not kwargs:
            return _ANY
        if name in ("dict", "combine", "zip", "set", "merge_response"):
            return _of_items([first, *(self.of(one) for one in given), *(self.of(one.value) for one in others)])
        return self._applied(name, first, given, others)

    def _of_macro(self, macro: nodes.Macro, args: Sequence[nodes.Expr], kwargs: Sequence[nodes.Keyword]) -> _Value:
        if macro.name in self._running:
            raise GrowsTooMuch(CALLS)
        names = [one.name for one in macro.args]
        given = dict(zip(names, map(self.of, args), strict=False))
        given |= {one.key: self.of(one.value) for one in kwargs}
        defaults = dict(zip(names[len(names) - len(macro.defaults) :], macro.defaults, strict=True))
        was, was_sure = dict(self._known), self._is_sure
        for name in names:
            value = given.get(name)
            self._known[name] = value if value is not None else self.of(defaults.get(name)).joined(_ANY)
        self._running.append(macro.name)
        self._is_sure = False
        size = self.body(macro.body)
        self._running.pop()
        self._is_sure = was_sure
        fields = {key: value for key, value in self._known.items() if "." in key}
        self._known = {**was, **fields}
        return _Value(size, "text", is_live=True)


def _of_constant(value: object) -> _Value:
    match value:
        case str():
            return _Value(float(len(value)), "text", None, frozenset({value}), float(len(value)), 1.0)
        case bool() | None:
            return _FLAG
        case int():
            return _Value(
                float(len(str(value))) if abs(value) < 10**18 else 4300.0, "number", float(min(abs(value), 10**18))
            )
        case float():
            return replace(_FLOAT, number=abs(value))
    return replace(_ANY, size=float(len(str(value))), is_live=False)


def _of_items(found: Sequence[_Value]) -> _Value:
    size = sum((one.size + 4 for one in found), 2.0)
    numbers = [one.number for one in found]
    number = max((one for one in numbers if one is not None), default=None) if None not in numbers else None
    longest = max((one.size for one in found), default=0.0)
    return _Value(size, "list", number, None, float(len(found)), longest, any(one.is_live for one in found))


def _part_of(value: _Value) -> _Value:
    if value.kind == "list":
        return _Value(max(value.item, 1.0), "", value.number, None, value.items, value.item, value.is_live)
    return replace(value, kind="", number=None, texts=None)


def _items_of(value: _Value) -> float:
    """Return how many items a list may have, or characters a text."""
    return value.size if value.kind == "text" or (value.kind != "list" and not value.is_live) else value.items


def _as_text(value: _Value) -> float:
    """Return how long a value is as a text; a list has signs before signs then."""
    return value.size * 4 if value.kind == "list" else value.size


def _together(found: Sequence[_Value]) -> _Value:
    """Return texts, one behind the other."""
    texts: frozenset[str] | None = frozenset({""})
    for one in found:
        if texts is None or one.texts is None or len(texts) * len(one.texts) > _MOST_TEXTS:
            texts = None
        else:
            texts = frozenset(before + after for before in texts for after in one.texts)
    size = sum(map(_as_text, found), 0.0)
    return _Value(size, "text", None, texts, size, 1.0, any(one.is_live for one in found))


def _sum_of(left: _Value, right: _Value) -> _Value:
    kinds = {left.kind, right.kind}
    if kinds & {"number", "float"}:
        number = None if left.number is None or right.number is None else left.number + right.number
        kind = "float" if "float" in kinds else "number"
        return _Value(max(left.size, right.size) + 1, kind, number, is_live=left.is_live or right.is_live)
    if kinds == {"text"}:
        return _together([left, right])
    kind = left.kind or right.kind
    found = _together([left, right])
    longest = max(left.item, right.item)
    return replace(found, size=left.size + right.size, kind=kind, items=left.items + right.items, item=longest)


def _product_of(left: _Value, right: _Value) -> _Value:
    kinds = {left.kind, right.kind}
    is_live = left.is_live or right.is_live
    if "" in kinds and not is_live:  # made of what stands there: it may be a list or a text
        left, right = (replace(one, kind=one.kind or "list") for one in (left, right))
        kinds = {left.kind, right.kind}
    if kinds & {"text", "list"}:
        value, times = (left, right) if left.kind in ("text", "list") else (right, left)
        number = times.number
        if number is None:
            number = _UNKNOWN_REPEATS if times.is_live else MOST_CHARACTERS + 1.0
        size = value.size * number
        return _Value(size, value.kind, value.number, None, value.items * max(number, 1.0), value.item, is_live)
    number = None if left.number is None or right.number is None else left.number * right.number
    if "float" in kinds:
        return replace(_FLOAT, number=number, is_live=is_live)
    if kinds == {"number"}:
        return _Value(left.size + right.size, "number", number, is_live=is_live)
    items = left.items if left.kind == "" else right.items  # if it is a list, not a number
    for one in (left, right):
        items *= max(1.0, one.number or 1.0)
    if items > _UNKNOWN_ITEMS * _MOST_REPEATS:
        raise GrowsTooMuch(TOO_LONG)
    return _Value(left.size + right.size, "", number, None, items, max(left.item, right.item), is_live)


def _number_of(name: str, value: _Value, *, is_live: bool) -> _Value:
    """Return a number that is made of a value."""
    if name in ("count", "length", "wordcount"):
        return _Value(8.0, "number", max(value.size, value.items), is_live=is_live)
    number = value.number if value.kind in ("number", "float") else None
    if value.texts and all(text.strip().isdecimal() and len(text) < 18 for text in value.texts):
        number = max(float(text) for text in value.texts)
    if name in ("float", "average", "median", "as_timestamp"):
        return replace(_FLOAT, number=number, is_live=is_live)
    return _Value(min(value.size, 4300.0) + 1, "number", number, is_live=is_live)


def _of_range(found: Sequence[_Value]) -> _Value:
    numbers = [one.number for one in found]
    is_live = any(one.is_live for one in found)
    if None in numbers or not numbers:
        largest = _LIVE_RANGE if is_live else _UNKNOWN_RANGE
    else:
        largest = min(max(one for one in numbers if one is not None), _UNKNOWN_RANGE)  # more is refused when it runs
    return _Value(largest * 6 + 2, "list", largest, None, largest, 6.0, is_live)


def _is_too_exact(digits: _Value | None) -> bool:
    """Return whether a number is rounded to so many digits that working with them takes long."""
    if digits is None or (digits.number is None and digits.is_live):
        return False
    return digits.number is None or digits.number > _MOST_DIGITS


type _Maker = Callable[[_Value, Sequence[_Value], Mapping[str, _Value]], float]


def _argument(given: Sequence[_Value], named: Mapping[str, _Value], place: int, *names: str) -> _Value | None:
    return next((named[name] for name in names if name in named), given[place] if place < len(given) else None)


def _replaced(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    old, new = _argument(given, named, 0, "s", "old"), _argument(given, named, 1, "new")
    length = _as_text(new) if new is not None else 0.0
    least = min(map(len, old.texts)) if old is not None and old.texts else 0
    return (value.size + 1) * (length + 1) if least == 0 else max(value.size, value.size / least * length)


def _replaced_by_pattern(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    new = _argument(given, named, 1, "replace")
    return (value.size + 1) * (1 + (_as_text(new) if new is not None else 0.0))


def _joined(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    between = _argument(given, named, 0, "d")
    return _as_text(value) + _items_of(value) * (_as_text(between) if between is not None else 0.0)


def _indented(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    width = _argument(given, named, 0, "width")
    return value.size * (1 + (4.0 if width is None else _width(width)))


def _width(value: _Value) -> float:
    if value.kind == "text":
        return value.size
    return _UNKNOWN_REPEATS if value.number is None else value.number


def _filled(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    every = [*given, *named.values()]
    return value.size + sum((max(_width(one), one.size) for one in every), 80.0)


def _wrapped(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    between = _argument(given, named, 2, "wrapstring")
    return value.size * (2 + (between.size if between is not None else 0.0))


def _grouped(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    count, fill = _argument(given, named, 0, "linecount", "slices"), _argument(given, named, 1, "fill_with")
    return value.size + (_width(count) if count is not None else 0.0) * (1 + (fill.size if fill is not None else 0.0))


def _spread(value: _Value, given: Sequence[_Value], named: Mapping[str, _Value]) -> float:
    width = _argument(given, named, 0, "tabsize")
    return value.size * (8.0 if width is None else max(1.0, _width(width)))


def _shown(value: _Value, _given: Sequence[_Value], _named: Mapping[str, _Value]) -> float:
    return _as_text(value)


_MAKERS: Mapping[str, _Maker] = {
    "replace": _replaced, "regex_replace": _replaced_by_pattern, "join": _joined, "indent": _indented, "center": _filled, "ljust": _filled,
    "rjust": _filled, "zfill": _filled, "truncate": _filled, "wordwrap": _wrapped, "batch": _grouped, "slice": _grouped,
    "expandtabs": _spread, "to_bytes": _filled, "string": _shown,
}  # fmt: skip
"""What filters and methods make of a length."""
