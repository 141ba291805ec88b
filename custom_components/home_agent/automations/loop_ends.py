"""Which conditions may end a loop: what is switched off, always true, or about the clock lets it go on."""

from collections.abc import Iterable, Mapping, Sequence

from homeassistant.helpers.template import Template
from jinja2 import Environment, TemplateError, nodes

_PARSER = Environment(autoescape=False, optimized=False)  # noqa: S701 - nothing is rendered
_CLOCK = frozenset({"sun", "time"})


def may_end(conditions: object) -> bool:
    """Return whether conditions, of which all have to be true, may be false once in a loop."""
    return any(map(_ends, _listed(conditions)))


def _listed(conditions: object) -> Iterable[object]:
    return conditions if isinstance(conditions, Sequence) and not isinstance(conditions, str) else (conditions,)


def _ends(condition: object) -> bool:
    if isinstance(condition, str | Template):
        return _is_open(condition)
    if not isinstance(condition, Mapping) or not condition or _is_off(condition.get("enabled")):
        return False
    for kind in ("and", "or", "not"):  # the short form
        if kind in condition and "condition" not in condition:
            return _of_several(kind, condition[kind])
    kind = str(condition.get("condition", ""))
    if kind in ("and", "or", "not"):
        return _of_several(kind, condition.get("conditions"))
    if kind == "template":
        return _is_open(condition.get("value_template"))
    return kind not in _CLOCK


def _of_several(kind: str, conditions: object) -> bool:
    found = [_ends(one) for one in _listed(conditions)]
    return bool(found) and (all(found) if kind == "or" else any(found))


def _is_off(enabled: object) -> bool:
    """Return whether something is switched off, also by a template that always is."""
    if isinstance(enabled, str | Template):
        return not _is_open(enabled)
    return enabled is False


def _is_open(template: object) -> bool:
    """Return whether a template may come to something else later; one that names nothing does not."""
    text = template.template if isinstance(template, Template) else str(template)
    try:
        tree = _PARSER.parse(text)
    except TemplateError, RecursionError:
        return True
    return next(tree.find_all((nodes.Name, nodes.Call)), None) is not None
