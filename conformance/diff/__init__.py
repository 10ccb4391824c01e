"""Two reports compared case by case: `conformance diff OLD NEW`. Needs no torch."""
