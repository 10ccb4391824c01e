"""The kernels under test: what a backend is, the built-in ones, and how others are found."""
