"""The algorithm as pure functions on arrays: what other trainers embed.

Legend of shape suffixes: P prompts, G responses a prompt, B responses, T positions, V vocabulary,
N packed tokens, S packed sequences. Importing this package imports no torch; modules that need it
(`loss`, `surprisal`, `theory`, `device`, `distributed`) do so themselves.
"""
