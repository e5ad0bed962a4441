"""The ratios, and lag over time, as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

LABELS = {"example1": "10 M sales", "large": "100 M sales", "tpch": "TPC-H SF 1", "tree": "500,000 people"}


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
    save(figure, axes, path)


def draw_lag(found: dict[str, Any], path: Path) -> None:
    """Two lines: the lag of the view, and that of its view delta, which runs ahead."""
    seconds, applied, propagated = zip(*found["samples"], strict=True)
    figure, axes = plt.subplots(figsize=(8, 3.2))
    axes.axvspan(*found["stopped"], color="#e6e6e6", label="runner stopped")
    axes.axhline(found["target"], color="#999999", linestyle="--", linewidth=1, label="target lag")
    axes.plot(seconds, applied, color="#2a6f97", linewidth=1.4, label="the view")
    axes.plot(seconds, propagated, color="#e07a5f", linewidth=1.0, label="its view delta")
    axes.set_xlim(0, seconds[-1])
    axes.set_ylim(0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("lag in seconds")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    save(figure, axes, path)


def save(figure: Any, axes: Any, path: Path) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "rollview"
    figure.savefig(path, metadata={"Date": None})
