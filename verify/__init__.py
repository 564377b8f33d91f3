"""Home of the verification suite, which trains attention layers and tests the predictions.

Empty so far: symattn solves the theory, nothing here trains yet.
"""
