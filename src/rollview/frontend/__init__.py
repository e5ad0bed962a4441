"""SQL text → resolved tree → algebra, and normalisation."""
