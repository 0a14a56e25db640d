"""Measuring this machine, and giving the physics its numbers."""

from __future__ import annotations

from hybrid_ml_scheduler.hardware.files import read_profile, to_mapping, write_profile
from hybrid_ml_scheduler.hardware.measuring import measure
from hybrid_ml_scheduler.hardware.node import assumptions, gpu_curves, node_from_profile, outside_range
from hybrid_ml_scheduler.hardware.profile import DeviceProfile, Point, Profile, Reading, Series

__all__ = [
    "DeviceProfile",
    "Point",
    "Profile",
    "Reading",
    "Series",
    "assumptions",
    "gpu_curves",
    "measure",
    "node_from_profile",
    "outside_range",
    "read_profile",
    "to_mapping",
    "write_profile",
]
