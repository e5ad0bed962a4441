"""Benchmarks: ratios against a full recompute and against hand-written Spark, measured in one run."""
