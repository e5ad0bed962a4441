-- changes: r insert
SELECT a, MAX(b) AS most FROM r GROUP BY a

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-AGGREGATE] at line 1, column 11 max() cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
