-- changes: r insert
SELECT a FROM r
WHERE rand() < 0.1

-- generated --------------------------------------------------------------------------
-- UnsupportedView
-- [RV-NONDETERMINISTIC] at line 2, column 7 rand() gives another value at another time, so the view has no one meaning
-- Hint: store the value in a column of a table
