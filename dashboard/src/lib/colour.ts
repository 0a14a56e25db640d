/** Colour arithmetic for themes: a strategy keeps its hue, only its lightness follows the ground. */

export type Rgb = readonly [number, number, number];

export function parseHex(hex: string): Rgb | null {
  const match = /^#([0-9a-f]{6})$/i.exec(hex.trim());
  if (!match?.[1]) return null;
  const value = Number.parseInt(match[1], 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function toHex(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => (a[i] as number) * (1 - share) + (b[i] as number) * share) as unknown as Rgb;
}

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast ratio as WCAG defines it, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** The colour moved towards black or white until it stands out from the ground. */
export function readable(colour: Rgb, ground: Rgb, wanted: number): Rgb {
  const pole: Rgb = luminance(ground) > 0.4 ? [0, 0, 0] : [255, 255, 255];
  for (let share = 0; share < 1; share += 0.05) {
    const tried = mix(colour, pole, share);
    if (contrast(tried, ground) >= wanted) return tried;
  }
  return pole;
}

/** The colour with an opacity, for areas under lines. */
export function faded(hex: string, alpha: number): string {
  const rgb = parseHex(hex);
  return rgb ? `rgb(${rgb.map(Math.round).join(" ")} / ${alpha})` : hex;
}
