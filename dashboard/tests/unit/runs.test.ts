import { describe, expect, it } from "vitest";
import type { RunCard, RunStanding } from "@/client/types";
import { chosenRuns, leadersOf, namesText, runTitle, strategiesOf } from "@/features/runs/words";
import { seconds } from "@/lib/format";
import { wordsOf } from "@/lib/runWords";

const standing = (name: string, latency: number | null): RunStanding =>
  ({ name, avg_latency: latency, undecided: [] }) as unknown as RunStanding;
const run = (run_id: number, name: string, standings: RunStanding[]): RunCard =>
  ({ run_id, name, standings }) as unknown as RunCard;

describe("stored runs in words", () => {
  it("are called by their number and, where they have one, their name", () => {
    expect(runTitle(run(3, "", []))).toBe("Run 3");
    expect(runTitle(run(3, "Baseline", []))).toBe("Run 3: Baseline");
  });

  it("name the strategy with the least latency, and nobody where none finished", () => {
    const leaders = (...standings: RunStanding[]) =>
      leadersOf(run(1, "", standings), "avg_latency", seconds).map((one) => one.name);
    expect(leaders(standing("a", 2), standing("b", 1), standing("c", null))).toEqual(["b"]);
    expect(leaders(standing("c", null))).toEqual([]);
    // Values that read alike are level, and what only would have been leads nothing.
    const modelled = { ...standing("m", 0.1), source: "modelled" } as RunStanding;
    expect(leaders(standing("a", 0.24701), modelled, standing("b", 0.247), standing("c", 0.25))).toEqual([
      "b",
      "a",
    ]);
    const open = { ...standing("a", 2), undecided: ["avg_latency"] };
    expect(leaders(open, { ...standing("l", null), is_behind: true })).toEqual([]);
  });

  it("name those who lead as far as there is room", () => {
    expect([["a"], ["a", "b"], ["a", "b", "c"]].map(namesText)).toEqual(["a", "a and b", "a and 2 more"]);
  });

  it("speak of a real run's tasks from 0 on and of its devices by their names", () => {
    const facts = { places: ["cpu", "numba_0", "cuda_0", "cuda_1"], devices: { cpu: 4, numba: 1, cuda: 2 } };
    const words = wordsOf({ first_task_id: -672, measured: facts } as unknown as RunCard);
    expect([words.task(-672), words.task(-1), words.idOf("671"), words.idOf("")]).toEqual([
      "0",
      "671",
      "-1",
      "",
    ]);
    expect(["cpu", "gpu_0", "gpu_2", "cpu+gpu_0"].map(words.device)).toEqual([
      "CPU",
      "numba",
      "GPU 1",
      "CPU + numba",
    ]);
    expect(wordsOf(undefined).task(7)).toBe("7");
  });

  it("list every strategy of all runs once", () => {
    const runs = [run(1, "", [standing("a", 1)]), run(2, "", [standing("b", 1), standing("a", 1)])];
    expect(strategiesOf(runs)).toEqual(["a", "b"]);
  });

  it("take from the address whole numbers only, each once and at most six", () => {
    expect(chosenRuns("3,1,3,x,-4,2.5,,9")).toEqual([3, 1, 9]);
    expect(chosenRuns("1,2,3,4,5,6,7")).toHaveLength(6);
    expect(chosenRuns(null)).toEqual([]);
  });
});
