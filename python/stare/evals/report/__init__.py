"""Reports of a graded run, all made from its results: terminal, markdown, csv, one HTML file."""
