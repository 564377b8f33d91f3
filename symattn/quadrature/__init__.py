"""Means over the local fields h* and w, right where the proximal map jumps."""
