"""Spark and the table format: the only package that imports pyspark or pyiceberg."""
