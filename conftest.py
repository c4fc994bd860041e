"""What pytest leaves out where a host of `stare.integrations` is not installed."""

from __future__ import annotations

from importlib.util import find_spec

NEEDS = {
    "trl": [
        "python/stare/integrations/trl.py",
        "tests/integrations/trl_rank.py",
        "tests/integrations/trl_runs.py",
    ],
}

collect_ignore = [
    path for host, paths in NEEDS.items() if find_spec(host) is None for path in paths
]
