"""Phase diagrams: fixed points over a grid of two parameters, in a file that loses nothing."""

from symattn.sweep.dataset import export, open_store
from symattn.sweep.grid import Axis
from symattn.sweep.run import Swept, sweep
from symattn.sweep.shards import merge

__all__ = ["Axis", "Swept", "export", "merge", "open_store", "sweep"]
