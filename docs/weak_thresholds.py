"""Print the table of docs/thresholds.md: `python docs/weak_thresholds.py`."""

from __future__ import annotations

from symattn import AttentionModel, ComputationFailed, threshold

NAMES = ("weak_positional", "weak_semantic", "weak_bulk")
PENALTIES = (0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)


def entry(lam: float, name: str) -> str:
    """alpha to 15 digits; * where it is estimated and not proved; - where it does not exist."""
    try:
        found = threshold(AttentionModel(lam=lam), name)
    except ComputationFailed:
        return "-"
    return f"{found.alpha:.15g}" + ("" if found.certificate == "proved" else " *")


def main() -> None:
    print("| lambda | " + " | ".join(NAMES) + " |\n|---|---|---|---|")
    for lam in PENALTIES:
        print(f"| {lam} | " + " | ".join(entry(lam, name) for name in NAMES) + " |")


if __name__ == "__main__":
    main()
