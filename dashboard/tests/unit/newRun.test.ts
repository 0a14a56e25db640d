import { describe, expect, it } from "vitest";
import { plainName } from "@/client/uploads";
import {
  amountOf,
  columnsOf,
  gpusOf,
  guessedColumns,
  promiseOf,
  rateOf,
  requestOf,
  seedOf,
  type Wish,
  withoutFlags,
} from "@/features/shell/newRun";
import { STRATEGIES } from "../fixtures";

const cards = STRATEGIES.map((card, i) => ({ ...card, in_race: i < 3 }));
const racers = cards.slice(0, 3).map((card) => card.name);
const wish: Wish = { cards, chosen: new Set(racers), racers, seed: 42, wishedSeed: null };

describe("a new run", () => {
  it("names nothing that stays as it is", () => {
    expect(requestOf(wish)).toEqual({ new_run: true });
    expect(requestOf({ ...wish, wishedSeed: 42 })).toEqual({ new_run: true });
  });

  it("names the strategies where others were chosen, in the order of the list", () => {
    const [first, , third, fourth] = cards.map((card) => card.name) as [string, string, string, string];
    expect(requestOf({ ...wish, chosen: new Set([fourth, third, first]) })).toEqual({
      new_run: true,
      schedulers: [first, third, fourth],
    });
    expect(requestOf({ ...wish, chosen: new Set([first]) }).schedulers).toEqual([first]);
  });

  it("names the rest where one that raced cannot be asked for any more", () => {
    expect(requestOf({ ...wish, racers: [...racers, "gone"] }).schedulers).toEqual(racers);
  });

  it("names the node and the workload where they were chosen", () => {
    expect(requestOf({ ...wish, gpus: 8, preset: "heavy", rate: 90 })).toEqual({
      new_run: true,
      num_gpus: 8,
      workload: "heavy",
      arrival_rate: 90,
    });
    expect(requestOf({ ...wish, gpus: null, preset: null, rate: null })).toEqual({ new_run: true });
    expect(["1", " 8 ", "64"].map(gpusOf)).toEqual([1, 8, 64]);
    expect(["0", "65", "1.5", "x", ""].map(gpusOf)).toEqual(Array(5).fill(null));
    expect(["6", "0.5", "1e3"].map(rateOf)).toEqual([6, 0.5, 1000]);
    expect(["0", "-1", "x", ""].map(rateOf)).toEqual(Array(4).fill(null));
  });

  it("promises a latency, or takes a promise back", () => {
    expect(requestOf({ ...wish, promise: 2 })).toEqual({ new_run: true, slo_s: 2 });
    expect(requestOf({ ...wish, promise: 0 })).toEqual({ new_run: true, slo_s: 0 });
    expect(["0", "0.5", "-1", "x", ""].map(promiseOf)).toEqual([0, 0.5, null, null, null]);
  });

  it("takes another seed, if it is one", () => {
    expect(requestOf({ ...wish, wishedSeed: 7 })).toEqual({ new_run: true, seed: 7 });
    expect(["7", " 12 ", "0"].map(seedOf)).toEqual([7, 12, 0]);
    expect(["", "-1", "1.5", "x", "99999999999999999999"].map(seedOf)).toEqual(Array(5).fill(null));
  });

  it("names an upload, how its arrivals are stretched, and a profile", () => {
    const asked = { upload: "ab", arrivals: { by: "target_load", value: 0.8 } as const, hardware: "cd" };
    expect(requestOf({ ...wish, ...asked })).toEqual({
      new_run: true,
      upload: "ab",
      target_load: 0.8,
      hardware: "cd",
    });
  });

  it("reads an amount above zero, and the columns of a CSV and of nothing else", () => {
    expect(["0.5", "0", "-1", "x", ""].map(amountOf)).toEqual([0.5, null, null, null, null]);
    expect(columnsOf('\uFEFFsubmitted, "run s",what\r\n1,2,3')).toEqual(["submitted", "run s", "what"]);
    expect(columnsOf("job;run s;submitted\n1;2;3")).toEqual(["job", "run s", "submitted"]);
    expect(columnsOf("job\trun_s\n1\t2")).toEqual(["job", "run_s"]);
    expect([columnsOf("; SWF 1 2 3\n"), columnsOf("\u001f\u008b,x"), columnsOf("")]).toEqual([[], [], []]);
  });

  it("are proposed as the service takes them, and no flag of a command line is shown", () => {
    const said =
      "own.csv, line 1: no known dialect (csv). Of any other CSV say which column is which, " +
      "for example --map task_id=job --map duration=run_s --map 'arrival_time=sent at'.";
    const asked = [{ key: "arrival_time" }, { key: "duration" }, { key: "kind" }];
    expect(guessedColumns(said, asked)).toEqual({ duration: "run_s", arrival_time: "sent at" });
    expect(guessedColumns("good.csv: the file is empty.", asked)).toEqual({});
    expect(withoutFlags(said)).toMatch(/say which column is which\.$/);
  });

  it("a file is sent under a name that the service takes", () => {
    expect(["jobs.csv", ".jobs.csv", "C:\\logs\\a.swf", "...", "x".repeat(200)].map(plainName)).toEqual([
      "jobs.csv",
      "jobs.csv",
      "a.swf",
      "file",
      "x".repeat(120),
    ]);
  });
});
