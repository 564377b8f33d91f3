"""Packages that not every installation has."""

from __future__ import annotations

from importlib.util import find_spec

from symattn.errors import ComputationFailed


def require(extra: str, *packages: str) -> None:
    """Check that packages are installed, without importing them.

    Raises
    ------
    ComputationFailed
        For the first that is missing, with the extra that brings it.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ComputationFailed(
                f"{package} is missing; pip install 'symattn[{extra}]' brings it"
            )
