"""Compiled engines of the bit model; each needs a package that is not always there, so none is imported from here."""
