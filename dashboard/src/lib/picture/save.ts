/** A picture of any widget as it is on the screen, as SVG or PNG, with its font and where it comes from. */
import font from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url";
import { saveFile } from "../csv";
import { paint } from "./paint";
import { posed } from "./pose";
import { escaped, Sheet, tag } from "./sheet";

const SCALE = 2;
const EDGE = 16;
const LINE = 15;

let fontText: Promise<string> | undefined;

async function fontFace(): Promise<string> {
  const bytes = new Uint8Array(await (await fetch(font)).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `@font-face{font-family:"Inter Variable";font-weight:100 900;src:url(data:font/woff2;base64,${btoa(text)}) format("woff2")}`;
}

const variable = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The lines below a picture: no longer than there is room for. */
export function wrapped(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= letters)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

interface Drawing {
  svg: string;
  width: number;
  height: number;
}

async function drawing(element: HTMLElement, origin: string): Promise<Drawing> {
  const { width, height: own } = element.getBoundingClientRect();
  const sheet = new Sheet(element);
  paint(sheet, element);
  const lines = wrapped(origin, Math.max(20, Math.floor((width - 2 * EDGE) / 5.6)));
  const height = own + 10 + lines.length * LINE;
  const words = lines.map((line, i) =>
    tag(
      "text",
      {
        x: EDGE,
        y: own + 14 + i * LINE,
        fill: variable("--muted"),
        "font-size": 11,
        "font-family": '"Inter Variable", sans-serif',
      },
      escaped(line),
    ),
  );
  fontText ??= fontFace();
  const inside = [
    tag("style", {}, `${await fontText}text{font-feature-settings:"cv11","ss03"}`),
    tag("defs", {}, sheet.definitions.join("")),
    tag("rect", { width, height, fill: variable("--panel-solid") }),
    ...sheet.parts,
    ...words,
  ];
  const frame = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` };
  return { svg: tag("svg", frame, inside.join("\n")), width, height };
}

function loaded(url: string): Promise<HTMLImageElement> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("The browser could not draw the picture."));
    image.src = url;
  });
}

async function rasterised({ svg, width, height }: Drawing): Promise<Blob> {
  const image = await loaded(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * SCALE);
  canvas.height = Math.ceil(height * SCALE);
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("The browser offers no canvas.");
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is empty."))), "image/png");
  });
}

export type PictureKind = "png" | "svg";

/** Draw the element with the sentence that says where its figures come from, and offer it as a file. */
export async function savePicture(
  kind: PictureKind,
  name: string,
  element: HTMLElement,
  origin: string,
): Promise<void> {
  const drawn = await posed(element, () => drawing(element, origin));
  const blob = kind === "png" ? await rasterised(drawn) : new Blob([drawn.svg], { type: "image/svg+xml" });
  saveFile(`${name}.${kind}`, blob);
}
