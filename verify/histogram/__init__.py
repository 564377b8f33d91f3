"""The histogram task: one transformer layer that counts, by positions or by the symbols' meaning.

It is the experiment that opens arXiv 2402.03902. Nothing here is solvable: the mechanism of a
trained layer is measured on its attention matrices (`verify.histogram.mechanism`).
"""
