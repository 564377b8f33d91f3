"""Settings for all tests."""

import os
import signal

from hypothesis import settings

# A shell's background job has interrupts ignored, and so would the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run, so that a red build is red for a reason in the change;
# HYPOTHESIS_PROFILE=explore draws new ones. No deadline: a first call may have to compile a kernel.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
