"""Tests of one host each; every module skips where its host is not installed."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
