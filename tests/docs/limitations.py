"""docs/limitations.md, from the reason codes in the source: what is refused or degraded, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import rollview
from rollview.reasons import REASONS

SOURCE = Path(rollview.__file__).parent
PAGE = SOURCE.parent.parent / "docs" / "limitations.md"
REFUSALS = {"not_yet": "not_yet", "NotYetSupported": "not_yet", "never": "never", "UnsupportedView": "never"}
HEAD = """# Limitations

Generated from the source by `pytest tests/docs --regenerate-golden`; a test fails if it is out of date.
"""
SECTIONS = {
    "not_yet": (
        "Not maintained from changes yet",
        "Under policy `auto`, `incremental` and `full` such a view is kept by recompute, which `explain`, `status` and "
        "every report say; `strict` refuses it.",
    ),
    "never": ("Refused under every policy", "The query has no one meaning, so no stored view can be right."),
    "noted": (
        "Accepted, with a note",
        "`explain` and the refresh history show these codes: a choice that was made, or the reason of a recompute.",
    ),
}


def refused() -> Iterator[tuple[str, str]]:
    """(code, section) of every refusal in the source."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
                values = [*node.args, *(k.value for k in node.keywords)]
                for value in (v for argument in values for v in ast.walk(argument)):
                    if isinstance(value, ast.Constant) and str(value.value).startswith("RV-"):
                        yield str(value.value), REFUSALS[node.func.id]


def codes() -> dict[str, list[str]]:
    """The codes of each section; whatever else is explained is a note."""
    found: dict[str, set[str]] = {section: set() for section in SECTIONS}
    for code, section in refused():
        found[section].add(code.removesuffix("-") or code)
    found["noted"] = set(REASONS) - found["not_yet"] - found["never"]
    return {section: sorted(names) for section, names in found.items()}


def page() -> str:
    parts = [HEAD]
    for section, names in codes().items():
        title, text = SECTIONS[section]
        parts.append(f"## {title}\n\n{text}\n\n| code | why |\n|---|---|\n")
        parts += [f"| {name} | {REASONS[name]} |\n" for name in names]
        parts.append("\n")
    return "\n".join(parts[:1]) + "\n" + "".join(parts[1:]).rstrip() + "\n"
