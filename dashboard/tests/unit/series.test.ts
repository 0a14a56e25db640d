import { describe, expect, it } from "vitest";
import { columnsOf, drawnColumns, lastSeconds, recentMeans, shiftMarkers, stacked } from "@/charts/series";
import { sampleOf } from "@/live/reducer";
import { last, UPDATES } from "../fixtures";

const SAMPLES = UPDATES.map(sampleOf);
const DEVICES = ["cpu", "gpu_0", "gpu_1", "gpu_2", "gpu_3"];

describe("time series of a real race", () => {
  it("end now and reach no further back than asked", () => {
    const { xs } = columnsOf(lastSeconds(SAMPLES, 2), DEVICES, () => 0);
    expect(xs.at(-1)).toBe(0);
    expect(Math.min(...xs)).toBeGreaterThanOrEqual(-2);
    expect(lastSeconds([], 60)).toEqual([]);
  });

  it("stack to the sum of the shares the service sent", () => {
    const columns = columnsOf(SAMPLES, DEVICES, (sample, device) => sample.load.greedy?.[device]);
    const sum = DEVICES.reduce((total, device) => total + (SAMPLES.at(-1)?.load.greedy?.[device] ?? 0), 0);
    expect(stacked(columns.ys).at(-1)?.at(-1)).toBeCloseTo(sum, 12);
    expect(SAMPLES.at(-1)?.load.greedy?.cpu).toBe(
      (last.clusters.greedy as { cpu: { utilization: number } }).cpu.utilization,
    );
  });

  it("give the mean of the latest tasks, which the whole run's mean would hide", () => {
    const first = SAMPLES[0];
    const end = SAMPLES.at(-1);
    if (!first || !end) throw new Error("the fixture is empty");
    const means = recentMeans(SAMPLES, "oracle", "time", 1e9);
    const tasks = (end.sums.oracle?.tasks ?? 0) - (first.sums.oracle?.tasks ?? 0);
    const time = (end.sums.oracle?.time ?? 0) - (first.sums.oracle?.time ?? 0);
    expect(means.at(-1)).toBeCloseTo(time / tasks, 12);
    expect(means[0]).toBeNull();
  });

  it("mark the shift at its own second", () => {
    const [marker] = shiftMarkers(last.shifts, SAMPLES);
    const shift = last.shifts[0];
    if (!shift) throw new Error("the fixture has no shift");
    const ago = Date.parse(last.at) - Date.parse(shift.at);
    expect(marker?.x).toBeCloseTo(-ago / 1000, 6);
    expect(marker?.text).toContain("cpu friendly");
  });

  it("leave gaps for what a logarithm cannot show", () => {
    const data = drawnColumns({ xs: [0, 1, 2], ys: [[100, 0, null]] }, false, true);
    expect(data[1]).toEqual([2, null, null]);
  });
});
