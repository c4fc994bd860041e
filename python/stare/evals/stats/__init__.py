"""Scores, their errors and their differences: pure functions of counts.

- `metrics`: one figure a problem (rate, pass@k, pass^k, G-Pass@k); `voting`: maj@k.
- `errors`: mean with two labelled standard errors and intervals; average over benchmarks.
- `counts`: reads them from a results.json; `compare`, `significance`: two runs, paired by problem.
- `published`: a run against the paper's table; `power`: what a design can detect.
- `settings`: whether two runs were made alike; `tables`: comparisons as text.

Only `counts`, `published` and `settings` read files. See docs/eval-statistics.md.

Example:
    >>> from stare.evals.stats.errors import estimate, metric_variance
    >>> from stare.evals.stats.metrics import pass_at_k
    >>> c, n, k = [0, 3, 8, 1], [8, 8, 8, 8], 4
    >>> score = estimate(pass_at_k(c, n, k), metric_variance(pass_at_k, c, n, k))
    >>> f"{score.value:.3f}, re-sampling {score.se_sampling:.3f}, problems {score.se_problems:.3f}"
    '0.607, re-sampling 0.130, problems 0.231'
"""
