"""Compiled Algorithm 1: one family of kernels for sums, one for maxima, around one archive and one generator.

Importing these modules imports numba; the engines do so when they are built, never earlier.
"""
