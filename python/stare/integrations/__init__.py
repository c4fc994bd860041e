"""STARE inside other trainers: one module a host, each importing `stare.algo` and its host only.

Importing this package imports no host; `python -m stare.integrations` says what is installed, what
works with it and what would do nothing (docs/integrations.md).
"""
