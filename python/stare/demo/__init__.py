"""The arithmetic demo: a task with many valid answers and a policy small enough for one CPU core.

`tasks` and `verifier` are the environment, `vocab` its tokenizer, `policy` the model, `sampler` the
rollouts, `reward` what the learner calls, `warmstart` the script that made the shipped weights.
"""
