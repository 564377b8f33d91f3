"""`symattn export`: a sweep in the formats of others."""

from __future__ import annotations

import argparse

from symattn.cli._console import Console
from symattn.cli._options import add_output

SUMMARY = "write a sweep as CSV, Parquet or NetCDF"
EXAMPLES = """\
examples:
  symattn export map.db --to map.csv        one row for each point and branch, definitions above
  symattn export map.db --to map.parquet    the same, definitions in the metadata of the columns
  symattn export map.db --to map.nc         NetCDF, as xarray.open_dataset reads it"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="FILE", help="a store of symattn sweep")
    parser.add_argument(
        "--to", required=True, metavar="FILE", help="ending in .csv, .parquet or .nc"
    )
    add_output(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    from symattn.sweep.dataset import export

    export(arguments.store, arguments.to)
    if arguments.json:
        console.json({"written": arguments.to})
    else:
        console.result(f"Written: {arguments.to}")
