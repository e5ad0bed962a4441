"""v:a.b[0]: a path into a variant, said as variant_get(v, '$.a.b[0]', 'variant')."""

from __future__ import annotations

import re

from sqlglot import exp

from rollview.frontend.refuse import not_yet

PLAIN = re.compile(r"[^.\[\]'\"`\\]+")
"""a key that Spark reads in the same way however it was quoted"""


def paths_spelled(tree: exp.Query) -> exp.Query:
    """The query with a call in the place of every path."""
    if tree.find(exp.JSONExtract) is None:
        return tree

    tree = tree.copy()
    for select in tree.find_all(exp.Select):
        select.set("expressions", [named(item) for item in select.expressions])

    def spelled(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.JSONExtract):
            return node
        arguments = [node.this.transform(spelled), exp.Literal.string(path(node)), exp.Literal.string("variant")]
        return exp.Anonymous(this="variant_get", expressions=arguments)

    result = tree.transform(spelled)
    assert isinstance(result, exp.Query)
    return result


def named(item: exp.Expr) -> exp.Expr:
    """A path is called by its last key, if there is one, also under a cast."""
    body = item.this if isinstance(item, exp.Cast) else item
    keys = body.expression.find_all(exp.JSONPathKey) if isinstance(body, exp.JSONExtract) else ()
    names = [str(key.this) for key in keys]
    return exp.alias_(item, names[-1], quoted=True) if names else item


def path(node: exp.JSONExtract) -> str:
    text = "$"
    for part in node.expression.expressions[1:]:
        if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int):
            text += f"[{part.this}]"
        elif isinstance(part, exp.JSONPathKey) and PLAIN.fullmatch(str(part.this)):
            text += f".{part.this}"
        else:
            raise not_yet("this path into a variant", "RV-VARIANT-PATH", node, "use variant_get(value, path, type)")
    return text
