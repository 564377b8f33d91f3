"""Training attention layers, message passing, and the judgement of the theory by both.

Everything here is finite: d dimensions, n = alpha d samples, some seeds. The theory it is held
against is that of the package `symattn`, which knows nothing of this one. It needs torch and
matplotlib, the extra `verify`.
"""
