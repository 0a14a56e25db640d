import { describe, expect, it } from "vitest";
import { nearestIndex, pointAt, pointedAt, stepped, stretchOf, stretchText, within } from "@/lib/along";

describe("one stretch for all charts of a view", () => {
  it("is in the address, and counts for charts of its own unit only", () => {
    expect(stretchText("around", [-10.25, 4])).toBe("around_-10.25_4");
    expect(stretchOf("around_-10.25_4", "around")).toEqual([-10.25, 4]);
    expect(stretchOf("around_-10.25_4", "task")).toBeNull();
    for (const text of [null, "", "around_4_-10", "around_4_4", "around_a_b", "task_1_2_3"])
      expect(stretchOf(text, "around")).toBeNull();
  });

  it("is halved around the pointer, doubled, moved, and never leaves the whole", () => {
    expect(stepped([-60, 0], [-60, 0], "in")).toEqual([-45, -15]);
    expect(stepped([-60, 0], [-60, 0], "in", -5)).toEqual([-30, 0]);
    expect(stepped([-30, 0], [-60, 0], "earlier")).toEqual([-45, -15]);
    expect(stepped([-15, 0], [-60, 0], "later")).toEqual([-15, 0]);
    expect(stepped([-45, -30], [-60, 0], "out")).toEqual([-52.5, -22.5]);
    expect(stepped([-45, -15], [-60, 0], "out")).toBeNull();
  });

  it("is cut to what there is, and is all of it where nothing would be left", () => {
    expect(within([5, 30], [0, 20])).toEqual([5, 20]);
    expect(within([50, 60], [0, 20])).toEqual([0, 20]);
    expect(within(null, [0, 20])).toEqual([0, 20]);
  });

  it("points at the nearest value there is", () => {
    expect(nearestIndex([-3, -2, 0], -1.9)).toBe(1);
    expect(nearestIndex([-3, -2, 0], 99)).toBe(2);
  });

  it("is not pointed at any longer once the pointer is elsewhere, even if the chart is gone and never heard of it", () => {
    const moved = (over: Element): boolean =>
      over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true }));
    const [first, second] = [document.createElement("div"), document.createElement("div")];
    document.body.append(first, second);
    second.addEventListener("mousemove", () => pointAt("task", 5, second));
    pointAt("task", 3, first);
    moved(first);
    expect(pointedAt("task")).toBe(3);
    first.remove();
    moved(second);
    expect(pointedAt("task")).toBe(5);
    second.remove();
    moved(document.body);
    expect(pointedAt("task")).toBeNull();
  });
});
