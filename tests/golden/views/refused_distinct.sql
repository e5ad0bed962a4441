-- changes: r insert
SELECT DISTINCT a FROM r

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-DISTINCT] at line 1, column 17 SELECT DISTINCT cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
