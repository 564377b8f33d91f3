"""Generated kernels, and the generator that writes them from the equations."""
