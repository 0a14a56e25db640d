import { afterEach, describe, expect, it } from "vitest";
import { merged, nudged, nudgeOfKey, readLayout, rememberLayout } from "@/features/widgets/layout";

const LAYOUT = [
  { i: "a", x: 0, y: 0, w: 6, h: 4, minW: 3, minH: 3 },
  { i: "b", x: 6, y: 0, w: 6, h: 4 },
  { i: "c", x: 0, y: 4, w: 12, h: 4 },
];

const find = (layout: readonly { i: string }[], id: string) => layout.find((item) => item.i === id);

function overlaps(layout: ReturnType<typeof nudged>): boolean {
  return layout.some((a, i) =>
    layout.slice(i + 1).some((b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h),
  );
}

afterEach(() => localStorage.clear());

describe("moving widgets by keyboard", () => {
  it("reads arrows as moves and Shift with arrows as sizes", () => {
    expect(nudgeOfKey("ArrowDown", false)).toBe("down");
    expect(nudgeOfKey("ArrowDown", true)).toBe("taller");
    expect(nudgeOfKey("Enter", false)).toBeNull();
  });

  it("moves a widget below its neighbour and never lets two overlap", () => {
    const next = nudged(LAYOUT, "a", "down");
    expect(find(next, "c")).toMatchObject({ y: 4 });
    expect(find(next, "a")).toMatchObject({ y: 8 });
    expect(overlaps(next)).toBe(false);
  });

  it("moves a widget above its neighbour", () => {
    const next = nudged(LAYOUT, "c", "up");
    expect(find(next, "c")).toMatchObject({ y: 0 });
    expect(overlaps(next)).toBe(false);
  });

  it("makes a widget wider and the others make room", () => {
    const next = nudged(LAYOUT, "a", "wider");
    expect(find(next, "a")).toMatchObject({ w: 7 });
    expect(overlaps(next)).toBe(false);
  });

  it("never makes a widget smaller than it can be", () => {
    let layout: ReturnType<typeof nudged> = LAYOUT;
    for (let i = 0; i < 10; i += 1) layout = nudged(nudged(layout, "a", "narrower"), "a", "shorter");
    expect(find(layout, "a")).toMatchObject({ w: 3, h: 3 });
  });
});

describe("the remembered layout", () => {
  it("comes back as it was left", () => {
    const moved = nudged(LAYOUT, "a", "down");
    rememberLayout("race", moved);
    const back = readLayout("race", LAYOUT);
    expect(find(back, "a")).toMatchObject({ y: 8 });
    expect(find(back, "a")).toMatchObject({ minW: 3 });
  });

  it("ignores what it cannot understand", () => {
    localStorage.setItem("hms.layout.race", "{broken");
    expect(readLayout("race", LAYOUT)).toEqual(LAYOUT);
    expect(merged(LAYOUT, [{ i: "a", x: -1, y: 0, w: 6, h: 4 }])).toEqual(LAYOUT);
  });

  it("gives a widget that did not exist then its own place", () => {
    const stored = [{ i: "a", x: 3, y: 3, w: 3, h: 3 }];
    expect(find(merged(LAYOUT, stored), "b")).toEqual(LAYOUT[1]);
  });
});
