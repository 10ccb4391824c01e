"""Kernels written for this suite, to be read and to be judged as anybody's."""
