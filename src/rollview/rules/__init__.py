"""One file per operator: how it carries each representation of change. The law stands above the code."""
