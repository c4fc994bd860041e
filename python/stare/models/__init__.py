"""Policies that come with the project, each a `(model_cfg, device) -> (model, tokenizer)`."""
