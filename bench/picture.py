"""The ratios as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

LABELS = {"example1": "10 M sales", "large": "100 M sales", "tpch": "TPC-H SF 1"}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Horizontal bars: the share of a recompute that a refresh takes; shorter is better."""
    names = [f"{r['view']} ({LABELS.get(r['part'], r['part'])})" for r in rows]
    shares = [r["refresh / recompute"] for r in rows]
    figure, axes = plt.subplots(figsize=(8, 0.45 * len(rows) + 1.2))
    axes.barh(names, [1.0] * len(rows), color="#e6e6e6", height=0.6)
    axes.barh(names, shares, color="#2a6f97", height=0.6)
    for i, share in enumerate(shares):
        axes.text(min(share, 1.0) + 0.01, i, f"{share:.2f}", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, max(1.0, *shares) * 1.05)
    axes.set_xlabel("time of a refresh, as a share of a full recompute (grey)")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "rollview"
    figure.savefig(path, metadata={"Date": None})
