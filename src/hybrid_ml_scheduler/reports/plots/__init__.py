"""Plots of stored tables: each is a function from tables to a figure, drawn without a screen."""

from __future__ import annotations

from hybrid_ml_scheduler.reports.plots.drawing import (
    CAPTIONS,
    COMPARISON_PLOTS,
    KNOWLEDGE_PLOTS,
    SHIFT_PLOTS,
    SWEEP_PLOTS,
    Read,
    draw,
    plots_for,
)

__all__ = ["CAPTIONS", "COMPARISON_PLOTS", "KNOWLEDGE_PLOTS", "SHIFT_PLOTS", "SWEEP_PLOTS", "Read", "draw", "plots_for"]
