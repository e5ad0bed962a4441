-- changes: r insert
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s GROUP BY c HAVING COUNT(*) = r.b)

-- generated --------------------------------------------------------------------------
-- NotYetSupported
-- [RV-SUBQUERY] at line 1, column 38 a correlated subquery of this form cannot be maintained from changes yet
-- Hint: policy 'auto' or 'full' keeps such a view by recompute
