"""The 22 TPC-H queries with the specification's validation parameters, their tables, and tiny random histories."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.rules.tables import by_name, refers, table

if TYPE_CHECKING:
    from random import Random

    from tests.steps import Rows

TABLES = by_name(
    table("region", "r_regionkey, r_name string", "r_regionkey"),
    table(
        "nation",
        "n_nationkey, n_name string, n_regionkey",
        "n_nationkey",
        refers("n_regionkey", "region", "r_regionkey"),
    ),
    table(
        "supplier",
        "s_suppkey, s_name string, s_address string, s_nationkey, s_phone string, s_acctbal decimal(15,2), "
        "s_comment string",
        "s_suppkey",
        refers("s_nationkey", "nation", "n_nationkey"),
    ),
    table(
        "part",
        "p_partkey, p_name string, p_mfgr string, p_brand string, p_type string, p_size, p_container string",
        "p_partkey",
    ),
    table(
        "partsupp",
        "ps_partkey, ps_suppkey, ps_availqty, ps_supplycost decimal(15,2)",
        "ps_partkey ps_suppkey",
        refers("ps_partkey", "part", "p_partkey"),
        refers("ps_suppkey", "supplier", "s_suppkey"),
    ),
    table(
        "customer",
        "c_custkey, c_name string, c_address string, c_nationkey, c_phone string, c_acctbal decimal(15,2), "
        "c_mktsegment string, c_comment string",
        "c_custkey",
        refers("c_nationkey", "nation", "n_nationkey"),
    ),
    table(
        "orders",
        "o_orderkey, o_custkey, o_orderstatus string, o_totalprice decimal(15,2), o_orderdate date, "
        "o_orderpriority string, o_shippriority, o_comment string",
        "o_orderkey",
        refers("o_custkey", "customer", "c_custkey"),
    ),
    table(
        "lineitem",
        "l_orderkey, l_linenumber, l_partkey, l_suppkey, l_quantity decimal(15,2), l_extendedprice decimal(15,2), "
        "l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date, "
        "l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string",
        "l_orderkey l_linenumber",
        refers("l_orderkey", "orders", "o_orderkey"),
    ),
)

QUERIES = {
    1: """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
        SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
        SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty,
        AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    2: """SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        FROM part, supplier, partsupp, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
        AND ps_supplycost = (SELECT MIN(ps_supplycost) FROM partsupp, supplier, nation, region
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
        ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100""",
    3: """SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    4: """SELECT o_orderpriority, COUNT(*) AS order_count FROM orders
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
        AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    5: """SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
        AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name ORDER BY revenue DESC""",
    6: """SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
        AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    7: """SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
        FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(YEAR FROM l_shipdate) AS l_year,
            l_extendedprice * (1 - l_discount) AS volume
            FROM supplier, lineitem, orders, customer, nation n1, nation n2
            WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
            AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
            AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
            AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping
        GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""",
    8: """SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
        FROM (SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
            n2.n_name AS nation
            FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
            WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
            AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey
            AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
            AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
            AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations
        GROUP BY o_year ORDER BY o_year""",
    9: """SELECT nation, o_year, SUM(amount) AS sum_profit
        FROM (SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS o_year,
            l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
            FROM part, supplier, lineitem, partsupp, orders, nation
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
            AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
            AND p_name LIKE '%green%') AS profit
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""",
    10: """SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
        c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
        AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
        ORDER BY revenue DESC LIMIT 20""",
    11: """SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value
        FROM partsupp, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
        GROUP BY ps_partkey
        HAVING SUM(ps_supplycost * ps_availqty) > (SELECT SUM(ps_supplycost * ps_availqty) * 0.1
            FROM partsupp, supplier, nation
            WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')
        ORDER BY value DESC""",
    12: """SELECT l_shipmode,
        SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END)
            AS low_line_count
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
        AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    13: """SELECT c_count, COUNT(*) AS custdist
        FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders
            ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders
        GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
    14: """SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
        / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem, part
        WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    15: """WITH revenue AS (SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
            FROM lineitem WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'
            GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
        WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue)
        ORDER BY s_suppkey""",
    16: """SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt
        FROM partsupp, part
        WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size""",
    17: """SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part
        WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
        AND l_quantity < (SELECT 0.2 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
    18: """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity
        FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 60)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate LIMIT 100""",
    19: """SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part
        WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK')
            AND l_quantity >= 1 AND l_quantity <= 11 AND p_size BETWEEN 1 AND 5
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PACK')
            AND l_quantity >= 10 AND l_quantity <= 20 AND p_size BETWEEN 1 AND 10
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK')
            AND l_quantity >= 20 AND l_quantity <= 30 AND p_size BETWEEN 1 AND 15
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')""",
    20: """SELECT s_name, s_address FROM supplier, nation
        WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
            WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND ps_availqty > (SELECT 0.5 * SUM(l_quantity) FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= DATE '1994-01-01'
                AND l_shipdate < DATE '1995-01-01'))
        AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name""",
    21: """SELECT s_name, COUNT(*) AS numwait FROM supplier, lineitem l1, orders, nation
        WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
        AND l1.l_receiptdate > l1.l_commitdate
        AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
        AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey
            AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
        GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100""",
    22: """SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal
        FROM (SELECT SUBSTRING(c_phone, 1, 2) AS cntrycode, c_acctbal FROM customer
            WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
            AND c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0.00
                AND SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
            AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale
        GROUP BY cntrycode ORDER BY cntrycode""",
}
"""Q11 and Q18 with thresholds that tiny tables can pass."""

NATIONS = [("FRANCE", 3), ("GERMANY", 3), ("BRAZIL", 1), ("CANADA", 1), ("SAUDI ARABIA", 4), ("CHINA", 2)]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
DAYS = ["1993-08-01", "1993-11-05", "1994-02-01", "1994-03-01", "1994-06-10", "1995-03-10", "1995-09-15", "1996-02-01"]
Row = tuple[Any, ...]


class Shop:
    """Makes rows; every value that a query asks for is likely."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.home = rng.sample(range(len(NATIONS)), 2)
        self.days = sorted(rng.sample(DAYS, 4))

    def pick(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def money(self, *values: str) -> Decimal:
        return Decimal(self.rng.choice(values))

    def region(self, key: Row, parents: Rows) -> Row:
        return (*key, REGIONS[key[0]])

    def nation(self, key: Row, parents: Rows) -> Row:
        return (*key, NATIONS[key[0]][0], NATIONS[key[0]][1])

    def supplier(self, key: Row, parents: Rows) -> Row:
        comment = self.pick("quick", "slow", "Customer has Complaints")
        balance = self.money("1.00", "2.00", "7.50")
        return (*key, f"s{key[0]}", "street", self.pick(*self.home), "13-1", balance, comment)

    def part(self, key: Row, parents: Rows) -> Row:
        return (
            *key,
            self.pick("green apple", "forest green", "forest", "red"),
            self.pick("m1", "m2"),
            self.pick("Brand#23", "Brand#12", "Brand#45"),
            self.pick("ECONOMY ANODIZED STEEL", "PROMO BRASS", "LARGE BRASS", "MEDIUM POLISHED TIN"),
            self.pick(3, 9, 15, 15, 49),
            self.pick("MED BOX", "MED BOX", "SM CASE", "LG BOX"),
        )

    def partsupp(self, key: Row, parents: Rows) -> Row:
        return (*key, self.rng.randint(1, 40), self.money("1.00", "2.00", "2.00", "5.25"))

    def customer(self, key: Row, parents: Rows) -> Row:
        phone, balance = self.pick("13-1", "31-2", "99-3"), self.money("-5.00", "0.00", "3.00", "9.00")
        segment = self.pick("BUILDING", "BUILDING", "AUTO")
        return (*key, f"c{key[0]}", "street", self.pick(*self.home), phone, balance, segment, "nice")

    def orders(self, key: Row, parents: Rows) -> Row:
        status, total = self.pick("F", "F", "O"), self.money("10.00", "20.00", "30.00")
        priority = self.pick("1-URGENT", "2-HIGH", "5-LOW")
        comment = self.pick("very special loud requests", "plain")
        customer = min(self.some(parents, "customer"), self.some(parents, "customer"))
        return (*key, customer, status, total, self.pick(*self.days), priority, 0, comment)

    def lineitem(self, key: Row, parents: Rows) -> Row:
        days = [self.pick(*self.days) for _ in range(3)]
        return (
            *key,
            self.some(parents, "part"),
            self.some(parents, "supplier"),
            Decimal(self.rng.choice((1, 2, 15, 25, 40))),
            self.money("100.00", "250.50", "999.99"),
            self.money("0.00", "0.05", "0.06"),
            self.money("0.00", "0.08"),
            self.pick("R", "N"),
            self.pick("O", "F"),
            *(sorted(days) if self.rng.random() < 0.7 else days),
            self.pick("DELIVER IN PERSON", "NONE"),
            self.pick("AIR", "MAIL", "SHIP"),
        )

    def some(self, parents: Rows, name: str) -> Any:
        return self.rng.choice(sorted(row[0] for row in parents[name]))


UNIVERSE = {
    "region": [(i,) for i in range(5)],
    "nation": [(i,) for i in range(6)],
    "supplier": [(i,) for i in range(4)],
    "part": [(i,) for i in range(4)],
    "partsupp": [(p, s) for p in range(4) for s in range(4)],
    "customer": [(i,) for i in range(6)],
    "orders": [(i,) for i in range(8)],
    "lineitem": [(o, n) for o in range(8) for n in range(3)],
}
FIXED = ("region", "nation")


def history(rng: Random, length: int) -> list[Rows]:
    """States of all tables; foreign keys hold in each of them."""
    states: list[Rows] = [{name: Counter() for name in UNIVERSE}]
    shop = Shop(rng)
    for _ in range(length):
        states.append(following(shop, states[-1]))
    return states[1:]


def following(shop: Shop, old: Rows) -> Rows:
    new: Rows = {}
    for name, keys in UNIVERSE.items():
        width = len(keys[0])
        before = {row[:width]: row for row in old[name]}
        rows: list[Row] = []
        for key in keys:
            row = before.get(key)
            chance = shop.rng.random()
            stays = row is not None and chance < 0.8 and not orphaned(name, row, new)
            if stays and row is not None:
                rows.append(row)
            elif name in FIXED or (chance < 0.95 and (row is None or chance > 0.87)):
                made = getattr(shop, name)(key, new)
                rows += [] if orphaned(name, made, new) else [made]
        new[name] = Counter(rows or [next(iter(before.values()), getattr(shop, name)(keys[0], new))])
    return new


def orphaned(name: str, row: Row, parents: Rows) -> bool:
    """Does the row refer to one that is not there?"""
    columns = [c.name for c in TABLES[name].columns]
    return any(
        row[columns.index(fk.columns[0])] not in {parent[0] for parent in parents[fk.table]}
        for fk in TABLES[name].foreign_keys
    )
