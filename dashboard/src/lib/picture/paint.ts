/** A part of the page as pure SVG: boxes, words and drawings where the browser has put them. */
import { gradientColours, hatchColours, outlineOf, plainColour } from "./ink";
import { type Box, type Sheet, tag } from "./sheet";
import { drawField, drawText } from "./words";

const SIDES = ["Top", "Right", "Bottom", "Left"] as const;

function cornerOf(style: CSSStyleDeclaration, box: Box): number {
  const radius = Number.parseFloat(style.borderTopLeftRadius) || 0;
  return Math.min(radius, box.width / 2, box.height / 2);
}

function dashOf(kind: string, width: number): string | null {
  return kind === "dashed" ? `${3 * width} ${2 * width}` : kind === "dotted" ? `${width} ${width}` : null;
}

function drawBorders(sheet: Sheet, box: Box, style: CSSStyleDeclaration): void {
  const sides = SIDES.map((side) => ({
    side,
    width: Number.parseFloat(style[`border${side}Width`]) || 0,
    kind: style[`border${side}Style`],
    colour: plainColour(style[`border${side}Color`]),
  })).map((one) => (one.kind === "none" || one.colour === null ? { ...one, width: 0 } : one));
  const [top] = sides;
  if (!top) return;
  const alike = sides.every((one) => one.width === top.width && one.colour === top.colour);
  if (alike && top.width > 0) {
    const half = top.width / 2;
    const inner = {
      x: box.x + half,
      y: box.y + half,
      width: Math.max(0, box.width - top.width),
      height: Math.max(0, box.height - top.width),
    };
    const look = { fill: "none", stroke: top.colour, "stroke-width": top.width };
    sheet.add(tag("rect", { ...inner, rx: cornerOf(style, inner), ...look }));
    return;
  }
  for (const { side, width, kind, colour } of sides) {
    if (width === 0) continue;
    const half = width / 2;
    const [x1, x2] =
      side === "Left"
        ? [box.x + half, box.x + half]
        : side === "Right"
          ? [box.x + box.width - half, box.x + box.width - half]
          : [box.x, box.x + box.width];
    const [y1, y2] =
      side === "Top"
        ? [box.y + half, box.y + half]
        : side === "Bottom"
          ? [box.y + box.height - half, box.y + box.height - half]
          : [box.y, box.y + box.height];
    const look = { stroke: colour, "stroke-width": width, "stroke-dasharray": dashOf(kind, width) };
    sheet.add(tag("line", { x1, y1, x2, y2, ...look }));
  }
}

function drawBox(sheet: Sheet, box: Box, style: CSSStyleDeclaration): void {
  const rx = cornerOf(style, box);
  const ground = plainColour(style.backgroundColor);
  if (ground) sheet.add(tag("rect", { ...box, rx, fill: ground }));
  const colours = gradientColours(style.backgroundImage);
  if (colours.length > 0) sheet.add(tag("rect", { ...box, rx, fill: `url(#${sheet.gradient(colours)})` }));
  const [stripe, under] = hatchColours(style.backgroundImage);
  if (stripe) sheet.add(tag("rect", { ...box, rx, fill: `url(#${sheet.hatching(stripe, under)})` }));
  const outline = outlineOf(style.boxShadow);
  if (outline) sheet.add(tag("rect", { ...box, rx, fill: "none", stroke: outline }));
  drawBorders(sheet, box, style);
}

/** What decides the look of a drawing, written into it; a style sheet does not travel with it. */
const DRAWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stop-color",
  "stop-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
] as const;

const COLOURS: ReadonlySet<string> = new Set(["fill", "stroke", "stop-color"]);

function dressed(from: Element): Element {
  const onto = from.cloneNode(false) as Element;
  const style = getComputedStyle(from);
  for (const name of DRAWN) {
    const value = style.getPropertyValue(name);
    const plain = COLOURS.has(name) && !value.startsWith("url") ? (plainColour(value) ?? "none") : value;
    if (plain) onto.setAttribute(name, plain);
  }
  onto.removeAttribute("class");
  onto.removeAttribute("style");
  for (const child of from.childNodes) {
    if (child instanceof Element) onto.append(dressed(child));
    else if (child.nodeType === Node.TEXT_NODE) onto.append(child.cloneNode());
  }
  return onto;
}

function drawDrawing(sheet: Sheet, drawing: SVGSVGElement, box: Box): void {
  const copy = dressed(drawing);
  if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value.toFixed(2));
  copy.setAttribute("overflow", "visible");
  sheet.add(new XMLSerializer().serializeToString(copy));
}

const isHidden = (style: CSSStyleDeclaration, box: Box): boolean =>
  style.display === "none" ||
  style.visibility === "hidden" ||
  style.opacity === "0" ||
  (box.width <= 1 && box.height <= 1 && style.overflow !== "visible");

function depth(element: Element): number {
  return Number.parseInt(getComputedStyle(element).zIndex, 10) || 0;
}

function drawInside(sheet: Sheet, element: Element, style: CSSStyleDeclaration): void {
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) drawText(sheet, child as Text, element, style);
  }
  const children = [...element.children];
  for (const child of children.sort((a, b) => depth(a) - depth(b))) paint(sheet, child);
}

/** Draw an element and all within it. */
export function paint(sheet: Sheet, element: Element): void {
  if ((element as HTMLElement).dataset?.noPicture) return;
  const style = getComputedStyle(element);
  // It has no box of its own and counts as unseen, but what is in it is seen.
  if (style.display === "contents") drawInside(sheet, element, style);
  // What a closed fold holds has a place on the page, too.
  if (!element.checkVisibility()) return;
  const box = sheet.boxOf(element.getBoundingClientRect());
  if (isHidden(style, box)) return;
  const faint = Number.parseFloat(style.opacity) < 1;
  if (faint) sheet.add(`<g opacity="${style.opacity}">`);
  drawBox(sheet, box, style);
  if (element instanceof HTMLCanvasElement)
    sheet.add(tag("image", { ...box, href: element.toDataURL("image/png") }));
  else if (element instanceof SVGSVGElement) drawDrawing(sheet, element, box);
  else if (element instanceof HTMLSelectElement || element instanceof HTMLInputElement)
    drawField(sheet, element, style);
  else {
    const cuts = style.overflowX !== "visible" || style.overflowY !== "visible";
    const over =
      element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
    if (cuts && over) sheet.clipped(box, () => drawInside(sheet, element, style));
    else drawInside(sheet, element, style);
  }
  if (faint) sheet.add("</g>");
}
