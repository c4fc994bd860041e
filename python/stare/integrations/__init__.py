"""STARE inside other trainers, one thin module a host; each needs its host installed."""
