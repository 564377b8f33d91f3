"""What stands in which column of the arrays that one h* fills, and of their means over h*."""

from __future__ import annotations

# columns of a row: means over w given h*
NORM = 0  # 1
ENVELOPE = 1  # M
G_SQUARED = 2  # |g|^2
G_MEAN = 3  # g_1 - g_2
G_DIV = 4  # div_w g (Stein form)
G_TARGET = 5  # g.h*
LOSS = 6  # loss at the prox
DQ_G_SQUARED = 7  # derivative of G_SQUARED by q; the next ones likewise
DM_G_SQUARED = 8
DTHETA_G_SQUARED = 9
DQ_G_MEAN = 10
DM_G_MEAN = 11
DTHETA_G_MEAN = 12
DQ_G_TARGET = 13
DTHETA_G_TARGET = 14
DQ_G_DIV = 15
RESPONSE = 16  # g^T K g with K = Hess (I + V Hess)^-1, and the jumps' part: -d E|g|^2/dV / 2
COLUMNS = 17

# what vanishes by symmetry at m = 0, and at theta = 0
ODD_IN_M = (G_MEAN, DM_G_SQUARED, DQ_G_MEAN, DTHETA_G_MEAN)
ODD_IN_THETA = (G_TARGET, DTHETA_G_SQUARED, DTHETA_G_MEAN, DQ_G_TARGET)

# columns of a report row
JUMP_LENGTH = 0  # int over the jump set of N |jump of x| dS
FOLD = 1  # int over det < 0 of |det| N: the mean number of saddles
UNCOVERED = 2  # part of it that no piece of the jump set covers
FOLD_MISMATCH = 3  # |FOLD of the grid - FOLD of the pieces|
JUMP_NORM = 4  # int over B of det N, 0 in exact arithmetic
CHORD_GAP = 5  # least of psi - chord on B, 0 or more when no phase is missing
BORDER = 6  # weight met on the rim of the table
SMOOTH_RESPONSE = 7  # E_w |dg/dw|_F^2 without the jumps
SEVERAL_MINIMA = 8  # probability of more than one local minimum
SEEDS = 9
TRIANGLES = 10
SMOOTH_IMBALANCE = 11  # SMOOTH_RESPONSE from the even half of the x grid less the odd half
DOUBLED = 12  # part of FOLD that two unconnected pieces cover
REPORT_COLUMNS = 13
