"""What a report is set from: headings, text, bullets, tables and pictures on A4."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.platypus import Image

__all__ = ["FittingImage", "Page", "shared_widths"]

_INK, _DIM, _LINE, _BAND, _ACCENT = "#0f172a", "#475569", "#cbd5e1", "#f1f5f9", "#0891b2"
_CM = 72 / 2.54
_WIDTH = 18.2 * _CM
_HEIGHT = 26.4 * _CM
# A table that is no taller than this is never torn apart; of a taller one this many rows stay together at each end.
_WHOLE, _ROWS_AT_AN_END = 8.0 * _CM, 4
_TABLE_SIZE, _BESIDE = 6.6, 8.0
# How small a picture may become to fit under what stands before it.
_SMALLEST = 0.8


@cache
def _fonts() -> tuple[str, str]:
    """A typeface with every sign we write, embedded: the one that comes with the plots."""
    import matplotlib as mpl
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    pdfmetrics.registerFont(TTFont("DejaVu", str(folder / "DejaVuSans.ttf")))
    pdfmetrics.registerFont(TTFont("DejaVu-Bold", str(folder / "DejaVuSans-Bold.ttf")))
    return "DejaVu", "DejaVu-Bold"


class Page:
    """Collects the parts of a report and sets them.

    A heading and the text under it wait until it is known what follows: all go to a new page where they would be
    torn apart.
    """

    def __init__(self, *, title: str, subtitle: str) -> None:
        self._plain, self._bold = _fonts()
        self._title = title
        self._waiting: list[Any] = []
        self._story: list[Any] = [
            self._paragraph(title, 20, self._bold, after=2, leading=26),
            self._paragraph(subtitle, 9.5, self._plain, colour=_DIM, after=6),
        ]

    def heading(self, text: str) -> None:
        """A heading that stays with what follows it."""
        self._set([])
        self._waiting = [self._paragraph(text, 13, self._bold, before=12, after=4, colour=_ACCENT)]

    def text(self, text: str) -> None:
        """A paragraph; under a heading it stays with what follows."""
        paragraph = self._paragraph(text, 9, self._plain, after=4)
        if self._waiting:
            self._waiting.append(paragraph)
        else:
            self._story.append(paragraph)

    def bullets(self, sentences: Sequence[str]) -> None:
        """One sentence a line."""
        self._set([self._paragraph(sentence, 9, self._plain, after=3, bullet="•") for sentence in sentences])

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """A table with a heading row that repeats on every page; its columns are as wide as they need to be."""
        from reportlab.platypus import Spacer, Table, TableStyle

        head = [self._paragraph(cell, _TABLE_SIZE, self._bold, leading=8.2) for cell in rows[0]]
        body = [[self._paragraph(cell, _TABLE_SIZE, self._plain, leading=8.2) for cell in row] for row in rows[1:]]
        table = Table([head, *body], colWidths=self._widths(rows), repeatRows=1, hAlign="LEFT")
        table.setStyle(TableStyle(_table_look(len(rows))))
        height = float(table.wrap(_WIDTH, _HEIGHT)[1])
        self._set([table, Spacer(0, 8)], room=min(height, _WHOLE))

    def picture(self, png: bytes, caption: str) -> None:
        """A plot over the width of the page with its caption, a little smaller where that fills a page."""
        from reportlab.lib.utils import ImageReader

        from hybrid_ml_scheduler.reports.report_page import FittingImage

        width, height = ImageReader(io.BytesIO(png)).getSize()
        told = self._paragraph(caption, 8, self._plain, colour=_DIM, before=2, after=12)
        below = _height_of([told])
        # Drawn at 160 dots an inch, set a little smaller so that two fill a page; never larger than the page.
        scale = min(0.93 * 72 / 160, _WIDTH / width, (_HEIGHT - below - 2 * _CM) / height)
        image = FittingImage(png, width * scale, height * scale, below=below, smallest=_SMALLEST)
        self._set([image, told], room=_SMALLEST * height * scale + below)

    def build(self, target: io.BytesIO) -> None:
        """Set the pages; no date and no random name goes into the file."""
        from reportlab.lib.pagesizes import A4
        from reportlab.platypus import SimpleDocTemplate

        self._set([])
        margin = (A4[0] - _WIDTH) / 2
        document = SimpleDocTemplate(
            target,
            pagesize=A4,
            leftMargin=margin,
            rightMargin=margin,
            topMargin=1.5 * _CM,
            bottomMargin=1.7 * _CM,
            title=self._title,
            author="hms",
            invariant=1,
        )
        document.build(self._story, onFirstPage=self._foot, onLaterPages=self._foot)

    def _set(self, flowables: list[Any], room: float | None = None) -> None:
        """What waits, and then these, on a new page unless there is room for the beginning of them."""
        from reportlab.platypus import CondPageBreak

        needed = _height_of(flowables[:1]) if room is None else room
        if self._waiting or room is not None:
            self._story.append(CondPageBreak(_height_of(self._waiting) + needed + 1.0))
        self._story += [*self._waiting, *flowables]
        self._waiting = []

    def _widths(self, rows: Sequence[Sequence[str]]) -> list[float]:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        fonts = [self._bold, *[self._plain] * (len(rows) - 1)]
        wanted = [
            max(
                stringWidth(line, font, _TABLE_SIZE)
                for cell, font in zip(column, fonts, strict=True)
                for line in (cell.split("\n") if font == self._plain else [max(cell.split(), key=len, default="")])
            )
            for column in zip(*rows, strict=True)
        ]
        return shared_widths([width + _BESIDE for width in wanted], _WIDTH)

    def _foot(self, canvas: Any, document: Any) -> None:
        from reportlab.lib.colors import HexColor

        canvas.setFont(self._plain, 7)
        canvas.setFillColor(HexColor(_DIM))
        canvas.drawString(document.leftMargin, 1.0 * _CM, f"Hybrid ML Scheduler · {self._title}")
        canvas.drawRightString(document.pagesize[0] - document.rightMargin, 1.0 * _CM, str(canvas.getPageNumber()))

    def _paragraph(
        self,
        text: str,
        size: float,
        font: str,
        *,
        colour: str = _INK,
        before: float = 0,
        after: float = 0,
        leading: float | None = None,
        bullet: str | None = None,
    ) -> Any:
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle
        from reportlab.platypus import Paragraph

        style = ParagraphStyle(
            "text",
            fontName=font,
            fontSize=size,
            leading=leading or size * 1.35,
            textColor=HexColor(colour),
            spaceBefore=before,
            spaceAfter=after,
            leftIndent=10 if bullet else 0,
            bulletFontName=font,
            bulletFontSize=size,
        )
        return Paragraph(escape(text).replace("\n", "<br/>"), style, bulletText=bullet)


def shared_widths(wanted: Sequence[float], total: float) -> list[float]:
    """Widths of columns that fill a page: what each wants and some more, or less for the widest alone."""
    spare = total - sum(wanted)
    if spare >= 0:
        return [width + spare * width / sum(wanted) for width in wanted]
    widths = list(wanted)
    left, still = total, sorted(range(len(wanted)), key=lambda place: wanted[place])
    for done, place in enumerate(still):
        widths[place] = min(wanted[place], left / (len(still) - done))
        left -= widths[place]
    return widths


def _height_of(flowables: Sequence[Any]) -> float:
    return float(sum(one.wrap(_WIDTH, _HEIGHT)[1] + one.getSpaceBefore() + one.getSpaceAfter() for one in flowables))


def _table_look(rows: int) -> list[tuple[Any, ...]]:
    from reportlab.lib.colors import HexColor

    together = min(_ROWS_AT_AN_END, rows - 1)
    return [
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, HexColor(_INK)),
        ("LINEBELOW", (0, 1), (-1, -1), 0.25, HexColor(_LINE)),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), [None, HexColor(_BAND)]),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 1),
        ("TOPPADDING", (0, 0), (-1, -1), 2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
        # No page begins or ends with a row or two of a table.
        ("NOSPLIT", (0, 0), (-1, together)),
        ("NOSPLIT", (0, rows - together), (-1, -1)),
    ]


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
