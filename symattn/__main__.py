"""`python -m symattn`, the same as `symattn`."""

from __future__ import annotations

import sys

from symattn.cli import main

sys.exit(main())
