-- changes: r insert
SELECT b FROM r JOIN s ON r.b = s.b

-- generated --------------------------------------------------------------------------
-- BadInput
-- [RV-AMBIGUOUS] at line 1, column 8 the column name 'b' is ambiguous
-- Hint: qualify it with a table alias
