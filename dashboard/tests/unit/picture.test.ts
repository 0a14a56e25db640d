import { describe, expect, it } from "vitest";
import { gradientColours, hatchColours, topLevel } from "@/lib/picture/ink";
import { arrived } from "@/lib/picture/pose";
import { escaped, tag } from "@/lib/picture/sheet";
import { shortened } from "@/lib/picture/words";
import { provenance } from "@/lib/provenance";
import { last } from "../fixtures";

describe("an exported picture", () => {
  it("says run, seed, workload, how far the run had got, and when it was made", () => {
    const said = provenance(last, "1.2", new Date("2026-11-16T09:30:12Z"));
    const { run_id: run, seed, workload } = last.status;
    expect(said).toContain(`Run ${run} · seed ${seed} · workload ${workload.preset}`);
    expect(said).toContain("Hybrid ML Scheduler 1.2 · 2026-11-16 09:30 UTC.");
    expect(provenance(null, null, new Date(0))).toContain("No run yet");
  });

  it("keeps colours with commas of their own in one piece", () => {
    expect(topLevel("90deg, rgb(1, 2, 3), color(srgb 0 0 1)")).toEqual([
      "90deg",
      "rgb(1, 2, 3)",
      "color(srgb 0 0 1)",
    ]);
    expect(gradientColours("linear-gradient(90deg, rgb(1, 2, 3), red)")).toEqual(["rgb(1, 2, 3)", "red"]);
    expect(gradientColours("none")).toEqual([]);
    const hatch =
      "repeating-linear-gradient(135deg, rgb(1, 2, 3) 0px, rgb(1, 2, 3) 3px, rgba(0, 0, 0, 0) 3px, rgba(0, 0, 0, 0) 6px)";
    expect(hatchColours(hatch)).toEqual(["rgb(1, 2, 3)", "rgba(0, 0, 0, 0)"]);
    expect(gradientColours(hatch)).toEqual([]);
  });

  it("cuts words where the screen does, with an ellipsis", () => {
    const widthOf = (text: string): number => text.length * 10;
    expect(shortened("Earliest finish", 100, widthOf)).toBe("Earliest…");
    expect(shortened("Greedy", 100, widthOf)).toBe("Greedy");
  });

  it("waits for figures that are on their way", async () => {
    const widget = document.createElement("section");
    widget.innerHTML = '<span class="skeleton"></span>';
    let isDrawn = false;
    const drawn = arrived(widget).then(() => {
      isDrawn = true;
    });
    await new Promise((go) => requestAnimationFrame(go));
    expect(isDrawn).toBe(false);
    widget.replaceChildren();
    await drawn;
    expect(isDrawn).toBe(true);
  });

  it("is XML whatever a strategy is called", () => {
    expect(tag("text", { x: 1.2345, fill: null }, escaped("<a & b>"))).toBe(
      '<text x="1.23">&lt;a &amp; b&gt;</text>',
    );
  });
});
