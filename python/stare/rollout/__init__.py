"""Sampling responses from a policy: one protocol, one file a back end."""
