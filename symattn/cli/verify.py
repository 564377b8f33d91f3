"""`symattn verify`: trained layers and message passing against the theory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from symattn.cli._console import Console
from symattn.cli._options import add_output, output_directory, whole_number
from symattn.errors import ComputationFailed, InvalidInput, SymattnError

if TYPE_CHECKING:
    from verify.predictions import SuiteResult
