"""Starts runs: checks before the first step, one driver for all topologies, checkpoints."""
