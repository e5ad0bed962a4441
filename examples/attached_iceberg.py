"""An Iceberg table that others write: attached, not copied; their commits reach the view.

Run it with `python examples/attached_iceberg.py`; it works in a temporary folder, or in the one that you name.
"""

import sys
import tempfile
from pathlib import Path

import rollview


def main(folder: str) -> None:
    wh = rollview.open(Path(folder) / "warehouse")
    spark = wh.spark

    # Somebody else's catalog; yours may be REST, Glue or Hive. Any catalog that the session knows will do.
    spark.conf.set("spark.sql.catalog.shop", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.shop.type", "hadoop")
    spark.conf.set("spark.sql.catalog.shop.warehouse", str(Path(folder) / "shop"))
    spark.sql("CREATE TABLE shop.db.orders (id BIGINT, customer STRING, amount DECIMAL(10,2)) USING iceberg")
    spark.sql("INSERT INTO shop.db.orders VALUES (1, 'ann', 10), (2, 'bob', 20), (3, 'ann', 5)")

    wh.attach("orders", rollview.sources.IcebergTable("shop.db.orders"), key=["id"])
    wh.create_view("by_customer", "SELECT customer, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY customer")
    wh.table("by_customer").show()

    # They go on as ever, and know nothing of rollview.
    spark.sql("INSERT INTO shop.db.orders VALUES (4, 'cleo', 7)")
    spark.sql("DELETE FROM shop.db.orders WHERE id = 2")
    spark.sql("UPDATE shop.db.orders SET amount = amount + 1 WHERE customer = 'ann'")

    print(wh.refresh("by_customer"))  # captures three commits as three ticks, then one merge
    wh.table("by_customer").show()
    wh.changes("orders", since=1).show()  # what they did: signed rows, each with its tick
    assert wh.verify("by_customer").ok


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(sys.argv[1] if len(sys.argv) > 1 else scratch)
