"""The application: its commands, its help, and the one place where errors become exit codes."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rollview.cli import look, prepare, roll, views
from rollview.cli.options import CATALOG_VARIABLE, MEMORY_VARIABLE, WAREHOUSE_VARIABLE, Json, examples
from rollview.cli.output import remark
from rollview.cli.problems import Exit, report

INTERRUPTED = 130
"""What typer makes of Ctrl-C, as shells do."""


class Commands(TyperGroup):
    """Errors of whatever kind end here: a panel or JSON, an exit code, no traceback."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        args = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(args, *rest, **{**options, "standalone_mode": False})
        except Exception as error:
            code = report(error, as_json="--json" in args)
        if code == INTERRUPTED:
            remark("Interrupted.")
        sys.exit(code or Exit.OK)


app = typer.Typer(
    name="rollview",
    cls=Commands,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "rollview demo",
        "rollview init warehouse && export ROLLVIEW_WAREHOUSE=warehouse",
        'rollview create city_sales --sql "SELECT …"',
        "rollview refresh && rollview status",
    )
    + "\n\n[bold]Exit codes[/bold]\n0 ok; 1 a refresh or verification failed; 2 usage, configuration or SQL; "
    "3 stale (status --gate); 4 a strict view refused to recompute."
    f"\n\n[dim]{MEMORY_VARIABLE} (such as 2g) limits the memory of Spark's driver. Spark reads spark-defaults.conf in "
    "SPARK_CONF_DIR: put the catalogs of attached tables there.[/dim]",
)


def version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rollview {version('rollview')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def rollview(
    context: typer.Context,
    warehouse: Annotated[
        str | None,
        typer.Option("--warehouse", "-w", metavar="PATH", envvar=WAREHOUSE_VARIABLE, help="The warehouse's folder."),
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="URL",
            envvar=CATALOG_VARIABLE,
            help="Its catalog where it is not the embedded one: postgresql://user:password@host/database.",
        ),
    ] = None,
    json: Json = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Materialized views on Apache Spark that roll forward incrementally to any commit.

    These options may stand before the command or after it.
    """
    given = {"warehouse": warehouse, "catalog": catalog, "json": json}
    context.default_map = dict.fromkeys(getattr(context.command, "commands", ()), given)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(epilog=examples("rollview init warehouse"))(prepare.init)
app.command(epilog=examples("rollview doctor", "rollview doctor -w warehouse --json"))(prepare.doctor)
app.command(epilog=examples("rollview demo", "rollview demo --rows 200000 --keep /tmp/demo"))(prepare.demo)
app.command(
    epilog=examples(
        'rollview create n_sales --sql "SELECT COUNT(*) AS n FROM sales"',
        "rollview create city_sales --file city_sales.sql --policy strict",
        "rollview create city_sales - < city_sales.sql",
    )
)(views.create)
app.command(
    epilog=examples(
        "rollview refresh",
        "rollview refresh city_sales --to 42",
        "rollview refresh city_sales si_sales --to 2026-01-31T18:00:00",
    )
)(views.refresh)
app.command(epilog=examples("rollview propagate city_sales", "rollview propagate city_sales --step rows=10000"))(
    roll.propagate
)
app.command(epilog=examples("rollview apply city_sales", "rollview apply city_sales --to 2026-01-31T18:00:00"))(
    roll.apply
)
app.command(epilog=examples("rollview run", "rollview run propagate --lag 10 --step target=5"))(roll.run)
app.command(epilog=examples("rollview maintain", "rollview maintain --dry-run --json"))(roll.maintain)
app.command(epilog=examples("rollview status", "rollview status --gate --max-behind 2 || rollview refresh"))(
    look.status
)
app.command(epilog=examples("rollview explain city_sales"))(look.explain)
app.command(epilog=examples("rollview history", "rollview history city_sales --limit 5 --json"))(look.history)
app.command(epilog=examples("rollview verify", "rollview verify city_sales"))(look.verify)
app.command(
    epilog=examples(
        'rollview sql "SELECT * FROM city_sales ORDER BY total DESC" --limit 10',
        'rollview sql "CREATE MATERIALIZED VIEW v AS SELECT …"',
        "rollview sql - --json < query.sql",
    )
)(look.sql)
app.command(epilog=examples("rollview drop city_sales"))(views.drop)


def main() -> None:
    """The entry point of the `rollview` command."""
    logging.getLogger().addHandler(logging.NullHandler())  # py4j's complaints are in our errors already
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    app()
