-- changes: r insert
SELECT a, collect_list(b) AS bs FROM r GROUP BY a

-- generated --------------------------------------------------------------------------
-- UnsupportedView
-- [RV-UNDETERMINED] at line 1, column 11 the order of the array that collect_list() makes is not determined by the rows of the group
-- Hint: sort_array(collect_list(…))
