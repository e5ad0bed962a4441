-- changes: r insert
SELECT a,
  current_date AS today FROM r

-- generated --------------------------------------------------------------------------
-- UnsupportedView
-- [RV-NONDETERMINISTIC] at line 2, column 3 current_date() gives another value at another time, so the view has no one meaning
-- Hint: only a time filter may read the clock: WHERE day >= current_date - INTERVAL 7 DAYS; or store the value in a column of a table
