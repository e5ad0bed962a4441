"""Does the stored view equal its SQL? The recompute audit."""
