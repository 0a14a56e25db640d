/** A picture of any widget: its elements with their styles written out, drawn by the browser itself. */
import { saveFile } from "./csv";

const SCALE = 2;

/** Properties that shape a drawing; copying all of them would make files of megabytes. */
const PROPERTIES = [
  "align-items",
  "background-color",
  "background-image",
  "border-bottom",
  "border-collapse",
  "border-left",
  "border-radius",
  "border-right",
  "border-top",
  "bottom",
  "box-sizing",
  "color",
  "column-gap",
  "display",
  "fill",
  "fill-opacity",
  "flex",
  "flex-direction",
  "flex-wrap",
  "font-family",
  "font-size",
  "font-variant-numeric",
  "font-weight",
  "gap",
  "grid-column-end",
  "grid-column-start",
  "grid-row-end",
  "grid-row-start",
  "grid-template-columns",
  "grid-template-rows",
  "height",
  "justify-content",
  "left",
  "letter-spacing",
  "line-height",
  "list-style",
  "margin",
  "max-width",
  "min-width",
  "opacity",
  "overflow",
  "padding",
  "position",
  "right",
  "row-gap",
  "stroke",
  "stroke-dasharray",
  "stroke-opacity",
  "stroke-width",
  "text-align",
  "text-anchor",
  "text-overflow",
  "text-transform",
  "top",
  "transform",
  "vertical-align",
  "visibility",
  "white-space",
  "width",
  "writing-mode",
  "z-index",
] as const;

function dress(from: Element, onto: Element): void {
  const computed = getComputedStyle(from);
  const style = PROPERTIES.map((name) => `${name}:${computed.getPropertyValue(name)}`).join(";");
  onto.setAttribute("style", style);
  onto.removeAttribute("class");
}

function asImage(canvas: HTMLCanvasElement): HTMLImageElement {
  const image = document.createElement("img");
  image.src = canvas.toDataURL("image/png");
  return image;
}

function copied(from: Element): Element {
  const onto = from instanceof HTMLCanvasElement ? asImage(from) : (from.cloneNode(false) as Element);
  dress(from, onto);
  for (const child of from.childNodes) {
    if (child instanceof Element) {
      if (!(child as HTMLElement).dataset?.noPicture) onto.append(copied(child));
    } else if (child.nodeType === Node.TEXT_NODE) onto.append(child.cloneNode());
  }
  return onto;
}

function loaded(url: string): Promise<HTMLImageElement> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("The browser could not draw the picture."));
    image.src = url;
  });
}

/** The element as a PNG, twice as fine as the screen, on the theme's ground. */
export async function picture(element: HTMLElement): Promise<Blob> {
  const { width, height } = element.getBoundingClientRect();
  const body = copied(element);
  body.setAttribute("xmlns", "http://www.w3.org/1999/xhtml");
  const markup = new XMLSerializer().serializeToString(body);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${markup}</foreignObject></svg>`;
  const image = await loaded(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * SCALE);
  canvas.height = Math.ceil(height * SCALE);
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("The browser offers no canvas.");
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--panel-solid");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is empty."))), "image/png");
  });
}

export async function savePicture(name: string, element: HTMLElement): Promise<void> {
  saveFile(`${name}.png`, await picture(element));
}
