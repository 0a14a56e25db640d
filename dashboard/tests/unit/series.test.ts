import { describe, expect, it } from "vitest";
import {
  drawnColumns,
  gapsIn,
  loadColumns,
  reachOf,
  shiftMarkers,
  stacked,
  trendColumns,
  withGaps,
} from "@/charts/series";
import type { LoadHistory } from "@/client/types";
import { TREND } from "../fixtures";

const LOAD: LoadHistory = {
  run_id: 1,
  scheduler: "greedy",
  edges_s: [10, 11, 12, 13],
  busy: { cpu: [null, 0.5, 1], gpu_0: [null, 0.25, 0] },
  shifts: [],
};

describe("time series of a stored race", () => {
  it("end with the newest stored task and keep every mean", () => {
    const { xs, ys } = trendColumns(TREND, ["oracle"], "avg_latency");
    const first = TREND.points[0];
    const newest = TREND.points.at(-1);
    if (!first || !newest) throw new Error("the fixture is empty");
    expect(xs.at(-1)).toBe(0);
    expect(xs[0]).toBeCloseTo(first.simulated_time_s - newest.simulated_time_s, 9);
    expect(ys[0]?.filter((value) => value !== null)).toEqual(
      TREND.points.map((point) => point.avg_latency.oracle),
    );
  });

  it("leave a gap where nothing happened for long, and none where all is regular", () => {
    expect(gapsIn([0, 1, 2, 3])).toEqual([]);
    expect(gapsIn([0, 1, 2, 60, 61])).toEqual([3]);
    expect(gapsIn([0, 1, 2, 12, 22, 23, 24])).toEqual([]);
    expect(withGaps({ xs: [0, 1, 2, 60, 61], ys: [[1, 2, 3, 4, 5]] })).toEqual({
      xs: [0, 1, 2, 31, 60, 61],
      ys: [[1, 2, 3, null, 4, 5]],
    });
  });

  it("takes single tasks that arrive by chance for no gap, and a long silence between them for one", () => {
    const xs = [0, 0.1, 0.2, 1.0, 1.1, 1.7, 2.3, 2.4];
    expect(gapsIn(xs)).toEqual([3]);
    expect(gapsIn(xs, reachOf({ tasks_per_point: 1 }))).toEqual([]);
    expect(gapsIn([...xs, 60, 60.5, 61], reachOf({ tasks_per_point: 1 }))).toEqual([8]);
    expect(reachOf({ tasks_per_point: 50 })).toBe(1);
  });

  it("draw shares at the middle of their step, and nothing where nothing is known", () => {
    const columns = loadColumns(LOAD, ["cpu", "gpu_0"]);
    expect(columns.xs).toEqual([-2.5, -1.5, -0.5]);
    expect(stacked(columns.ys)).toEqual([
      [null, 0.5, 1],
      [null, 0.75, 1],
    ]);
  });

  it("mark the shift at its own simulated second", () => {
    const shift = TREND.shifts[0];
    if (!shift) throw new Error("the fixture has no shift");
    const [marker] = shiftMarkers(TREND.shifts, shift.simulated_time_s + 7);
    expect(marker?.x).toBeCloseTo(-7, 6);
    expect(marker?.text).toContain("CPU-friendly");
  });

  it("leave gaps for what a logarithm cannot show", () => {
    const data = drawnColumns({ xs: [0, 1, 2], ys: [[100, 0, null]] }, false, true);
    expect(data[1]).toEqual([2, null, null]);
  });
});
