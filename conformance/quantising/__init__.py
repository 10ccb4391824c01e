"""Quantisers under test: what they are, what is right, and how one case comes to its record."""
