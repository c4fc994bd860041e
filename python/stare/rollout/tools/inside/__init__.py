"""What runs inside the sandbox, with nothing but the standard library. It imports nothing of ours.

The trainer starts `zygote`, which imports what programs may need and then forks for each program;
`nest` gives the fork namespaces of its own, `program` runs the source. See docs/tools.md.
"""
