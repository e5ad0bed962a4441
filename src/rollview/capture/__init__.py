"""Capture: how the changes of each kind of source become signed rows, one source transaction at a time."""
