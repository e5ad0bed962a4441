"""View delta → extent, in one published commit. Never reads base tables."""
