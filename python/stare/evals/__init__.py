"""Evaluation: grading recorded completions and summarising them. No module here imports torch."""
