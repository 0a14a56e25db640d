/** The paper a picture is drawn on: pieces of SVG, and definitions that they refer to. */
import { plainColour } from "./ink";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const escaped = (text: string): string =>
  text.replace(
    /[&<>"]/g,
    (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter] ?? "",
  );

const short = (value: number): string => String(Math.round(value * 100) / 100);

type Attributes = Readonly<Record<string, string | number | null | undefined>>;

/** One tag; attributes without a value are left out. */
export function tag(name: string, attributes: Attributes, inside?: string): string {
  const said = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? short(value) : escaped(String(value))}"`)
    .join("");
  return inside === undefined ? `<${name}${said}/>` : `<${name}${said}>${inside}</${name}>`;
}

export class Sheet {
  readonly parts: string[] = [];
  readonly definitions: string[] = [];
  private readonly origin: DOMRect;

  constructor(root: Element) {
    this.origin = root.getBoundingClientRect();
  }

  /** A place on the screen as a place on the paper. */
  boxOf(rect: DOMRect): Box {
    return {
      x: rect.left - this.origin.left,
      y: rect.top - this.origin.top,
      width: rect.width,
      height: rect.height,
    };
  }

  add(part: string): void {
    this.parts.push(part);
  }

  /** Keep a definition and return its name. */
  define(make: (id: string) => string): string {
    const id = `d${this.definitions.length}`;
    this.definitions.push(make(id));
    return id;
  }

  /** Draw what `inside` draws within a box only. */
  clipped(box: Box, inside: () => void): void {
    const id = this.define((name) => tag("clipPath", { id: name }, tag("rect", { ...box })));
    this.add(`<g clip-path="url(#${id})">`);
    inside();
    this.add("</g>");
  }

  /** Stripes from the lower left to the upper right. */
  hatching(stripe: string, ground: string | undefined): string {
    const under = ground === undefined ? null : plainColour(ground);
    return this.define((id) =>
      tag(
        "pattern",
        { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        `${under ? tag("rect", { width: 6, height: 6, fill: under }) : ""}${tag("rect", { width: 3, height: 6, fill: plainColour(stripe) })}`,
      ),
    );
  }

  gradient(colours: readonly string[]): string {
    const last = Math.max(1, colours.length - 1);
    return this.define((id) =>
      tag("linearGradient", { id }, colours.map((colour, i) => stop(colour, i / last)).join("")),
    );
  }
}

/** A stop with its opacity apart: old readers know no colours with alpha there. */
function stop(css: string, offset: number): string {
  const [r, g, b, alpha] = (plainColour(css) ?? "rgba(0,0,0,0)").match(/[\d.]+/g) ?? [];
  return tag("stop", { offset, "stop-color": `rgb(${r},${g},${b})`, "stop-opacity": alpha ?? 1 });
}
