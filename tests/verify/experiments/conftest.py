"""Settings for the tests that train."""

import torch

# Tensors of these sizes gain nothing from threads, and on a busy machine the threads wait for each
# other twenty times longer than they work.
torch.set_num_threads(1)
