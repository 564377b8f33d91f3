"""Independent methods that the solver is judged against.

Nothing here imports symattn.  The formulas are written by hand in token coordinates x = (x_1, x_2),
every proximal point is a global minimisation, and the integrals run over (h*, w) as they stand.
"""
