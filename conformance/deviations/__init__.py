"""Known deviations: failures that a ledger foresees, where it says so, and nothing else."""
