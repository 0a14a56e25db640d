/** Colours, borders and shadows of a box as every program that reads SVG knows them. */

const known = new Map<string, string | null>();

function pen(): CanvasRenderingContext2D | null {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  return canvas.getContext("2d", { willReadFrequently: true });
}

let brush: CanvasRenderingContext2D | null | undefined;

/** Any CSS colour as `rgb(...)` with an opacity, by painting one pixel; null where nothing would be seen. */
export function plainColour(css: string): string | null {
  const found = known.get(css);
  if (found !== undefined) return found;
  brush ??= pen();
  let plain: string | null = null;
  if (brush && css && css !== "none" && css !== "transparent") {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = css;
    brush.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0, a = 0] = brush.getImageData(0, 0, 1, 1).data;
    plain =
      a === 0 ? null : a === 255 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${(a / 255).toFixed(3)})`;
  }
  known.set(css, plain);
  return plain;
}

/** The parts of a list that stand outside all brackets. */
export function topLevel(list: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at <= list.length; at += 1) {
    const letter = list[at];
    if (letter === "(") depth += 1;
    else if (letter === ")") depth -= 1;
    else if (letter === undefined || (letter === "," && depth === 0)) {
      parts.push(list.slice(from, at).trim());
      from = at + 1;
    }
  }
  return parts;
}

/** The colours of a linear gradient from left to right, first to last; none for any other picture. */
export function gradientColours(image: string): string[] {
  const inside = /^linear-gradient\((.*)\)$/s.exec(image)?.[1];
  if (!inside) return [];
  return topLevel(inside).filter((part) => !/^(-?[\d.]+deg|to\s)/.test(part));
}

/** The colours of a hatching, stripe and ground; none for any other picture. */
export function hatchColours(image: string): string[] {
  const inside = /^repeating-linear-gradient\((.*)\)$/s.exec(image)?.[1];
  if (!inside) return [];
  const stops = topLevel(inside).filter((part) => !/^(-?[\d.]+deg|to\s)/.test(part));
  return [...new Set(stops.map((part) => part.replace(/(\s+-?[\d.]+(px|%))+$/, "").trim()))];
}

/** A shadow that is only an outline (`0 0 0 1px`), as a colour; others are glow and are left out. */
export function outlineOf(shadow: string): string | null {
  for (const one of topLevel(shadow)) {
    const lengths = one.match(/-?[\d.]+px/g)?.map(Number.parseFloat) ?? [];
    const [x, y, blur, spread] = lengths;
    if (x === 0 && y === 0 && blur === 0 && spread === 1) {
      const colour = plainColour(
        one
          .replace(/-?[\d.]+px/g, "")
          .replace("inset", "")
          .trim(),
      );
      if (colour) return colour;
    }
  }
  return null;
}
