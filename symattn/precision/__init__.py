"""Beyond double precision, where the proximal map does not jump.

`fixed_point` and `zero` hold the fixed points, `crossing` the crossings of branches, `test_error`
the test error and the linear baseline. What they rest on: `_integrands` on `_polynomials` (what is
summed), `_steps` and `_plan` (how finely), `_job` and `_worker` (the sums, in several processes),
`_evolve` and `_branch` (steps of state evolution and of Newton's method).
"""
