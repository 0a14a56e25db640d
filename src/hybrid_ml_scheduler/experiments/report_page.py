"""What a report is set from: headings, text, bullets, tables and pictures on A4."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

__all__ = ["Page"]

_INK, _DIM, _LINE, _BAND, _ACCENT = "#0f172a", "#475569", "#cbd5e1", "#f1f5f9", "#0891b2"
_WIDTH_CM = 18.2
_WHOLE_ROWS = 8


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
    """Collects the parts of a report and sets them."""

    def __init__(self, *, title: str, subtitle: str) -> None:
        self._plain, self._bold = _fonts()
        self._title = title
        self._story: list[Any] = [
            self._paragraph(title, 20, self._bold, after=2, leading=26),
            self._paragraph(subtitle, 9.5, self._plain, colour=_DIM, after=6),
        ]

    def heading(self, text: str, room_cm: float = 5.0) -> None:
        """A heading that stays with what follows it: on a new page where there is no room for both."""
        from reportlab.lib.units import cm
        from reportlab.platypus import CondPageBreak

        self._story.append(CondPageBreak(room_cm * cm))
        self._story.append(self._paragraph(text, 13, self._bold, before=12, after=4, keep=True, colour=_ACCENT))

    def text(self, text: str) -> None:
        """A paragraph."""
        self._story.append(self._paragraph(text, 9, self._plain, after=4))

    def bullets(self, sentences: Sequence[str]) -> None:
        """One sentence a line."""
        for sentence in sentences:
            self._story.append(self._paragraph(sentence, 9, self._plain, after=3, bullet="•"))

    def table(self, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
        """A table with a heading row that repeats on every page; widths in centimetres."""
        from reportlab.lib.colors import HexColor
        from reportlab.lib.units import cm
        from reportlab.platypus import KeepTogether, Spacer, Table, TableStyle

        shrink = min(1.0, _WIDTH_CM / sum(widths))
        head = [self._paragraph(cell, 6.6, self._bold, leading=8.2) for cell in rows[0]]
        body = [[self._paragraph(cell, 6.6, self._plain, leading=8.2) for cell in row] for row in rows[1:]]
        table = Table([head, *body], colWidths=[width * shrink * cm for width in widths], repeatRows=1, hAlign="LEFT")
        look = [
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ("LINEBELOW", (0, 0), (-1, 0), 0.8, HexColor(_INK)),
            ("LINEBELOW", (0, 1), (-1, -1), 0.25, HexColor(_LINE)),
            ("ROWBACKGROUNDS", (0, 1), (-1, -1), [None, HexColor(_BAND)]),
            ("LEFTPADDING", (0, 0), (-1, -1), 3),
            ("RIGHTPADDING", (0, 0), (-1, -1), 1),
            ("TOPPADDING", (0, 0), (-1, -1), 2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
        ]
        table.setStyle(TableStyle(look))
        # A short table is not torn apart; a long one goes on under its repeated heading.
        self._story += [KeepTogether([table]) if len(rows) <= _WHOLE_ROWS else table, Spacer(0, 8)]

    def picture(self, png: bytes, caption: str) -> None:
        """A plot over the width of the page with its caption, kept together."""
        from reportlab.lib.units import cm
        from reportlab.lib.utils import ImageReader
        from reportlab.platypus import Image, KeepTogether

        width, height = ImageReader(io.BytesIO(png)).getSize()
        # Drawn at 160 dots an inch, set a little smaller so that two fit a page; never larger than the page.
        scale = min(0.82 * 72 / 160, _WIDTH_CM * cm / width, 23 * cm / height)
        image = Image(io.BytesIO(png), width=width * scale, height=height * scale, hAlign="LEFT")
        self._story.append(
            KeepTogether([image, self._paragraph(caption, 8, self._plain, colour=_DIM, before=2, after=12)])
        )

    def build(self, target: io.BytesIO) -> None:
        """Set the pages; no date and no random name goes into the file."""
        from reportlab.lib.pagesizes import A4
        from reportlab.lib.units import cm
        from reportlab.platypus import SimpleDocTemplate

        margin = (21.0 - _WIDTH_CM) / 2 * cm
        document = SimpleDocTemplate(
            target,
            pagesize=A4,
            leftMargin=margin,
            rightMargin=margin,
            topMargin=1.5 * cm,
            bottomMargin=1.7 * cm,
            title=self._title,
            author="hms",
            invariant=1,
        )
        document.build(self._story, onFirstPage=self._foot, onLaterPages=self._foot)

    def _foot(self, canvas: Any, document: Any) -> None:
        from reportlab.lib.colors import HexColor
        from reportlab.lib.units import cm

        canvas.setFont(self._plain, 7)
        canvas.setFillColor(HexColor(_DIM))
        canvas.drawString(document.leftMargin, 1.0 * cm, f"Hybrid ML Scheduler · {self._title}")
        canvas.drawRightString(21.0 * cm - document.rightMargin, 1.0 * cm, str(canvas.getPageNumber()))

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
        keep: bool = False,
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
            keepWithNext=keep,
            leftIndent=10 if bullet else 0,
            bulletFontName=font,
            bulletFontSize=size,
        )
        return Paragraph(escape(text).replace("\n", "<br/>"), style, bulletText=bullet)
