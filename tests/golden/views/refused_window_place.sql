-- changes: r insert
SELECT a FROM r WHERE RANK() OVER (ORDER BY a) = 1

-- generated --------------------------------------------------------------------------
-- BadInput
-- [RV-WINDOW-PLACE] at line 1, column 23 a window function cannot stand here
-- Hint: use QUALIFY or a subquery
