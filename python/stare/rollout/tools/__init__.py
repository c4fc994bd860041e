"""Tools a policy may call in a rollout: a sandboxed Python behind one protocol."""
