-- changes: r insert
SELECT a, bb FROM r

-- generated --------------------------------------------------------------------------
-- BadInput
-- [RV-UNKNOWN-COLUMN] at line 1, column 11 there is no column 'bb'
-- Hint: columns in scope: a, b
