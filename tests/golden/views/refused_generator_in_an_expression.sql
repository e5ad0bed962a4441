-- changes: r insert
SELECT 1 + explode(array(a, b)) AS e FROM r

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-GENERATOR] at line 1, column 12 explode() cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
