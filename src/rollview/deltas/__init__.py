"""The representations of change: signed bag, change table, partial delta."""
