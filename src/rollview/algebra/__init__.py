"""What a view means: schemas, immutable nodes, derived facts, and an interpreter that defines them."""
