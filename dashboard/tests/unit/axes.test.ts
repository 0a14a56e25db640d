import { describe, expect, it } from "vitest";
import { clockTicks, decimalsOf, linearScale, linearTicks, logScale, logTicks, spaced } from "@/charts/axes";
import { partAt, stripOf, windowOf } from "@/charts/gantt";
import { clock } from "@/lib/format";

describe("axes", () => {
  it("have round ticks inside their range", () => {
    expect(linearTicks(0, 1, 4)).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(logTicks(100, 5000)).toEqual([100, 200, 500, 1000, 2000, 5000]);
  });

  it("of a clock stand at whole minutes, and tell short moments apart", () => {
    expect(clockTicks(0, 1165, 8)).toEqual([0, 300, 600, 900]);
    expect(clockTicks(10, 95, 5)).toEqual([30, 60, 90]);
    expect(clockTicks(0, 37_220_428, 5).map((tick) => clock(tick))).toEqual([
      "0:00:00",
      "100 d",
      "200 d",
      "300 d",
      "400 d",
    ]);
    const short = clockTicks(0, 2.2, 9);
    const written = short.map((tick) => clock(tick, decimalsOf(short)));
    expect(new Set(written).size).toBe(short.length);
    expect(clock(3725.96, 2)).toBe("1:02:05.96");
    expect(decimalsOf([0, 300])).toBe(0);
  });

  it("map their ends to the ends of the drawing", () => {
    const log = logScale(100, 10_000, 0, 200);
    expect([log(100), log(1000), log(10_000)].map(Math.round)).toEqual([0, 100, 200]);
    expect(linearScale(5, 5, 0, 10)(5)).toBe(0);
  });

  it("drop labels that would touch", () => {
    expect(spaced(logScale(1, 1000, 0, 100), 40)).toEqual([1, 20, 500]);
  });
});

describe("the Gantt strip", () => {
  const gantt = {
    begin: 0,
    end: 100,
    devices: ["cpu", "gpu_0"],
    is_complete: true,
    intervals: [
      { device: "cpu", task_id: 1, begin: 10, end: 20, gpu_fraction: 0 },
      { device: "gpu_0", task_id: 2, begin: 50, end: 60, gpu_fraction: 1 },
    ],
  };

  it("zooms on the time axis only and stays inside what is known", () => {
    expect(windowOf(gantt, 50, 4)).toEqual([37.5, 62.5]);
    expect(windowOf(gantt, 2, 4)).toEqual([0, 25]);
    expect(windowOf(gantt, 99, 2)).toEqual([50, 100]);
  });

  it("finds the part under the pointer, and nothing beside it", () => {
    const strip = stripOf(gantt, [0, 100], 500, 58);
    const y = strip.yOf("gpu_0") + 5;
    expect(partAt(gantt, strip, { x: strip.x(55), y })?.task_id).toBe(2);
    expect(partAt(gantt, strip, { x: strip.x(15), y })).toBeNull();
  });
});
