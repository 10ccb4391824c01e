"""The commands, each a thin front: options, one call, output and exit code. Importing them needs no torch."""
