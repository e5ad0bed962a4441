-- changes: r insert
SELECT a, b, COUNT(*) AS n FROM r GROUP BY a

-- generated --------------------------------------------------------------------------
-- BadInput
-- [RV-NOT-GROUPED] at line 1, column 11 the column 'b' is neither grouped nor aggregated
-- Hint: add it to GROUP BY or put it into an aggregate
