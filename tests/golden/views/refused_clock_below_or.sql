-- changes: r insert
SELECT a FROM r
WHERE a > 1 OR b < now()

-- generated --------------------------------------------------------------------------
-- UnsupportedView
-- [RV-NONDETERMINISTIC] at line 2, column 20 now() gives another value at another time, so the view has no one meaning
-- Hint: only a time filter may read the clock: WHERE day >= now() - INTERVAL 7 DAYS; or store the value in a column of a table
