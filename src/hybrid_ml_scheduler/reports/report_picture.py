"""A picture of a report that gives way a little; imported only when a report is set."""

from __future__ import annotations

import io

from reportlab.platypus import Image

__all__ = ["FittingImage"]


class FittingImage(Image):  # type: ignore[misc]  # reportlab comes without types
    """A picture that shrinks to leave room for what stands below it, as long as it stays large enough to read."""

    def __init__(self, png: bytes, width: float, height: float, *, below: float, smallest: float) -> None:
        super().__init__(io.BytesIO(png), width=width, height=height, hAlign="LEFT")
        self._whole = width, height
        self._below, self._smallest = below, smallest

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """The size that fits, or the whole one where none does."""
        scale = min(1.0, width / self._whole[0], (height - self._below) / self._whole[1])
        scale = scale if scale >= self._smallest else 1.0
        self.drawWidth, self.drawHeight = self._whole[0] * scale, self._whole[1] * scale
        return self.drawWidth, self.drawHeight
