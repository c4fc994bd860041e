PYTHON ?= python3
.DEFAULT_GOAL := help

ext:  ## build the Rust extension into python/stare (for work in the tree)
	cargo build --release -p stare-py
	cp target/release/lib_core.so python/stare/_core.abi3.so
