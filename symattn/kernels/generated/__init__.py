"""Kernels written by `symattn derive`; none of the other files here is edited by hand."""
