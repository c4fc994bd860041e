"""Several problem sets into one: reading, filters, duplicates, contamination, weights."""
