"""Where pages end: tables stay whole or go on in good order, headings and captions stay with what they name."""

from __future__ import annotations

import io
import re

import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.reports.report_page import Page, shared_widths


def pages_of(page: Page) -> list[str]:
    target = io.BytesIO()
    page.build(target)
    return [one.extract_text() for one in PdfReader(target).pages]


def filled(lines: int) -> Page:
    """A page with so many lines on it."""
    page = Page(title="Title", subtitle="Subtitle.")
    page.bullets([f"Line {line}." for line in range(lines)])
    return page


def rows_on(text: str) -> int:
    return len(re.findall(r"\brow\d", text))


@pytest.mark.parametrize("rows", [2, 7, 20, 90])
@pytest.mark.parametrize("lines", range(0, 52, 3))
def test_no_page_begins_or_ends_with_a_few_rows_of_a_table(lines: int, rows: int) -> None:
    page = filled(lines)
    page.heading("Results")
    page.text("What the table shows.")
    page.table([["Name", "Value"], *([f"row{row}", f"{row}\n[{row}, {row}]"] for row in range(rows))])
    pages = [text for text in pages_of(page) if rows_on(text)]
    assert sum(map(rows_on, pages)) == rows
    assert "Results" in pages[0]
    assert "What the table shows." in pages[0]
    assert all("Value" in text for text in pages), "the heading row is on every page"
    assert all(rows_on(text) >= min(4, rows) for text in pages)
    if rows <= 7:
        assert len(pages) == 1


def picture(width: int, height: int) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    target = io.BytesIO()
    with mpl.rc_context({"savefig.dpi": 160}):
        Figure(figsize=(width, height)).savefig(target, format="png")
    return target.getvalue()


@pytest.mark.parametrize("lines", range(0, 52, 3))
def test_a_heading_a_picture_and_its_caption_are_on_one_page(lines: int) -> None:
    page = filled(lines)
    page.heading("Plots")
    page.picture(picture(7, 5), "What is seen.")
    (found,) = [text for text in pages_of(page) if "What is seen." in text]
    assert "Plots" in found


def test_a_picture_gives_way_a_little_before_it_leaves_a_page() -> None:
    """Two of 11.8 cm and their captions do not fit 26 cm under a title; a little smaller they do."""
    page = filled(0)
    for caption in ("First.", "Second."):
        page.picture(picture(7, 5), caption)
    assert len(pages_of(page)) == 1
    page = filled(8)
    for caption in ("First.", "Second."):
        page.picture(picture(7, 5), caption)
    assert len(pages_of(page)) == 2, "but not so small that it cannot be read"


def test_columns_get_what_they_want_and_only_the_widest_give_way() -> None:
    assert shared_widths([10.0, 30.0], 80.0) == [20.0, 60.0]
    assert shared_widths([10.0, 200.0, 20.0, 300.0], 130.0) == [10.0, 50.0, 20.0, 50.0]
    assert sum(shared_widths([70.0, 40.0, 60.0], 100.0)) == pytest.approx(100.0)


def test_a_cell_of_two_lines_is_not_broken_into_three() -> None:
    page = filled(0)
    page.table([["Strategy", "Cost ($)"], ["Frugal finish", "0.001706\n[0.001427, 0.001985]"]])
    assert "[0.001427, 0.001985]" in pages_of(page)[0].splitlines()
