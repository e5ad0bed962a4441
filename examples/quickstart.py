"""Managed tables, a view, a refresh.

Run it with `python examples/quickstart.py`; it works in a temporary folder, or in the one that you name.
"""

import sys
import tempfile

import rollview


def main(folder: str) -> None:
    wh = rollview.open(folder)  # a local Spark, an embedded catalog
    wh.create_table("stores", "store_id BIGINT, city STRING", key=["store_id"])
    wh.create_table(
        "sales",
        "sale_id BIGINT, store_id BIGINT, day DATE, price DECIMAL(10,2)",
        key=["sale_id"],
        foreign_keys={"store_id": "stores"},  # declared keys make plans cheaper
    )
    with wh.transaction() as tx:  # several tables, one tick, all or nothing
        tx.insert("stores", [(1, "Rome"), (2, "Rome"), (3, "Oslo")])
        tx.insert("sales", [(i, 1 + i % 3, "2026-01-01", f"{i}.50") for i in range(1, 7)])

    wh.create_view(
        "city_sales",
        "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM sales JOIN stores USING (store_id) GROUP BY city",
    )
    created = wh.tick
    wh.table("city_sales").show()

    with wh.transaction() as tx:
        tx.upsert("sales", [(6, 3, "2026-01-02", "100.00"), (7, 2, "2026-01-02", "20.00")])
        tx.update("sales", set={"price": "price * 0.9"}, where="store_id = 1")
        tx.delete("sales", where="sale_id = 2")

    print(wh.refresh("city_sales"))  # computes what the change changes, and merges that
    wh.table("city_sales").show()
    wh.table("city_sales", at=created).show()  # as it was

    print(wh.explain("city_sales"))
    print(wh.status())
    assert wh.verify("city_sales").ok  # equal to its SQL, row by row


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(sys.argv[1] if len(sys.argv) > 1 else scratch)
