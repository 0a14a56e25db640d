/** Text on the paper: line by line where the browser has put it. */
import { plainColour } from "./ink";
import { type Box, escaped, type Sheet, tag } from "./sheet";

interface Line {
  text: string;
  rect: DOMRect;
}

/** The lines of a text as the browser has broken it, without the blanks at their ends; upright ones stand side by side. */
function linesOf(node: Text, isUpright: boolean): Line[] {
  const range = document.createRange();
  range.selectNodeContents(node);
  const lines: { from: number; to: number; start: number }[] = [];
  if (range.getClientRects().length <= 1) lines.push({ from: 0, to: node.data.length, start: 0 });
  else
    for (let at = 0; at < node.data.length; at += 1) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const rect = range.getClientRects()[0];
      if (!rect || rect.width === 0 || rect.height === 0) continue;
      const [start, thickness] = isUpright ? [rect.left, rect.width] : [rect.top, rect.height];
      const line = lines.at(-1);
      if (line && Math.abs(line.start - start) < thickness / 2) line.to = at + 1;
      else lines.push({ from: at, to: at + 1, start });
    }
  return lines.map(({ from, to }) => {
    const text = node.data.slice(from, to);
    range.setStart(node, from + text.length - text.trimStart().length);
    range.setEnd(node, from + text.trimEnd().length);
    return { text, rect: range.getBoundingClientRect() };
  });
}

let measuring: CanvasRenderingContext2D | null = null;

function ruler(style: CSSStyleDeclaration): CanvasRenderingContext2D | null {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (measuring) measuring.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  return measuring;
}

/** Where letters stand within the height of their line. */
function baseline(box: Box, style: CSSStyleDeclaration): number {
  const size = ruler(style)?.measureText("x");
  const [up, down] = [size?.fontBoundingBoxAscent ?? 0, size?.fontBoundingBoxDescent ?? 0];
  return box.y + (box.height - up - down) / 2 + up;
}

/** The text as far as it has room; an ellipsis stands for the rest, as on the screen. */
export function shortened(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  let kept = text;
  while (kept.length > 1 && widthOf(`${kept}…`) > room) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}…`;
}

function said(text: string, style: CSSStyleDeclaration): string {
  const plain = style.whiteSpace.startsWith("pre") ? text : text.replace(/\s+/g, " ").trim();
  return style.textTransform === "uppercase" ? plain.toUpperCase() : plain;
}

export function letters(style: CSSStyleDeclaration): Record<string, string> {
  return {
    "font-family": style.fontFamily,
    "font-size": style.fontSize,
    "font-weight": style.fontWeight,
    "letter-spacing": style.letterSpacing === "normal" ? "" : style.letterSpacing,
    style: style.fontVariantNumeric === "normal" ? "" : `font-variant-numeric:${style.fontVariantNumeric}`,
    fill: plainColour(style.color) ?? "none",
  };
}

function vertical(sheet: Sheet, text: string, box: Box, style: CSSStyleDeclaration): void {
  const turn = style.transform.startsWith("matrix(-1") || style.rotate === "180deg" ? 270 : 90;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const place = {
    transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${turn})`,
    "text-anchor": "middle",
    "dominant-baseline": "central",
  };
  sheet.add(tag("text", { ...letters(style), ...place }, escaped(text)));
}

/** Draw a text where it stands; one that its box cuts off with an ellipsis is cut off likewise. */
export function drawText(sheet: Sheet, node: Text, parent: Element, style: CSSStyleDeclaration): void {
  if (node.data.trim() === "") return;
  const isUpright = style.writingMode.startsWith("vertical");
  for (const { text, rect } of linesOf(node, isUpright)) {
    const words = said(text, style);
    if (words === "" || rect.width === 0) continue;
    const box = sheet.boxOf(rect);
    if (isUpright) {
      vertical(sheet, words, box, style);
      continue;
    }
    const cut = style.textOverflow === "ellipsis" && parent.scrollWidth > parent.clientWidth;
    const room = sheet.boxOf(parent.getBoundingClientRect());
    const widthOf = (some: string): number => ruler(style)?.measureText(some).width ?? 0;
    const shown = cut ? shortened(words, room.x + room.width - box.x, widthOf) : words;
    const place = {
      x: box.x,
      y: baseline(box, style),
      // A program without the font keeps every word in its place.
      textLength: cut || words.length < 2 ? null : box.width,
      lengthAdjust: cut || words.length < 2 ? null : "spacingAndGlyphs",
    };
    sheet.add(tag("text", { ...letters(style), ...place }, escaped(shown)));
  }
}

/** A box to tick, with its tick where it has one. */
function drawTick(sheet: Sheet, element: HTMLInputElement, style: CSSStyleDeclaration): void {
  const { x, y, width, height } = sheet.boxOf(element.getBoundingClientRect());
  const side = Math.min(width, height) - 2;
  const accent = plainColour(style.accentColor) ?? plainColour(style.color);
  const look = element.checked
    ? { fill: accent }
    : { fill: "none", stroke: plainColour(style.color), "stroke-opacity": 0.6 };
  sheet.add(tag("rect", { x: x + 1, y: y + 1, width: side, height: side, rx: 3, ...look }));
  if (!element.checked) return;
  const at = (share: number, down: number): string =>
    `${(x + 1 + share * side).toFixed(1)} ${(y + 1 + down * side).toFixed(1)}`;
  const d = `M${at(0.22, 0.52)} L${at(0.42, 0.72)} L${at(0.78, 0.3)}`;
  sheet.add(tag("path", { d, fill: "none", stroke: "white", "stroke-width": 2 }));
}

/** What a field or a list shows: its words are no text of the page. */
export function drawField(
  sheet: Sheet,
  element: HTMLSelectElement | HTMLInputElement,
  style: CSSStyleDeclaration,
): void {
  if (element instanceof HTMLInputElement && element.type === "checkbox") {
    drawTick(sheet, element, style);
    return;
  }
  const text =
    element instanceof HTMLSelectElement
      ? (element.selectedOptions[0]?.text ?? "")
      : element.value || element.placeholder;
  const box = sheet.boxOf(element.getBoundingClientRect());
  const place = {
    x: box.x + Number.parseFloat(style.paddingLeft || "0"),
    y: box.y + box.height / 2,
    "dominant-baseline": "central",
  };
  sheet.add(tag("text", { ...letters(style), ...place }, escaped(text)));
}
