"""Mypy plugin: report Markup that an f-string, `str.format` or `str.join` turns into plain text.

The result would be escaped a second time and show its tags on the page. `fill` and `join` of
components.html.markup keep the type.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import Expression, GeneratorExpr, ListComprehension, ListExpr, TupleExpr
from mypy.plugin import MethodContext, Plugin
from mypy.types import Instance, Type, UnionType, get_proper_type

MARKUP = "markupsafe.Markup"
CORE = "components/html/markup.py"
"""The module that makes Markup from checked text."""


def holds_markup(given: Type, inside: bool = False) -> bool:
    """Whether a type is Markup or, if `inside`, a collection of Markup."""
    given = get_proper_type(given)
    if isinstance(given, UnionType):
        return any(holds_markup(item, inside) for item in given.items)
    if not isinstance(given, Instance):
        return False
    return given.type.fullname == MARKUP or (inside and any(map(holds_markup, given.args)))


def members(part: Expression) -> list[Expression]:
    """The members of a list or comprehension in a call, whose type mypy infers from the
    parameter."""
    made = part.generator if isinstance(part, ListComprehension) else part
    if isinstance(made, GeneratorExpr):
        return [made.left_expr]
    return list(made.items) if isinstance(made, ListExpr | TupleExpr) else []


def report_markup(inside: bool) -> Callable[[MethodContext], Type]:
    def check(context: MethodContext) -> Type:
        given = [one for group in context.arg_types for one in group]
        for part in (one for group in context.args for one in group):
            given += [context.api.get_expression_type(one) for one in members(part)]
        if not context.api.path.endswith(CORE) and any(holds_markup(one, inside) for one in given):
            context.api.fail("Markup becomes plain text; use fill() or join()", context.context)
        return context.default_return_type

    return check


class MarkupPlugin(Plugin):
    """The two methods of `str` that drop the type; an f-string is a call of `str.format`."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname == "builtins.str.format":
            return report_markup(inside=False)
        return report_markup(inside=True) if fullname == "builtins.str.join" else None


def plugin(version: str) -> type[Plugin]:
    return MarkupPlugin
