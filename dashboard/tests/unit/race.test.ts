import { describe, expect, it } from "vitest";
import { fittingScale, lengthOf, placed, type Racer } from "@/charts/race";

const racer = (name: string, value: number | null): Racer => ({
  name,
  label: name,
  colour: "#000000",
  value,
  text: String(value),
  running: null,
  counts: ["9 finished"],
  hasPlace: true,
  isLeast: false,
  extras: [],
});

describe("the race", () => {
  it("puts the least value first and the unknown last, names breaking ties", () => {
    const order = placed([racer("c", 2), racer("b", 1), racer("u", null), racer("a", 1)], "linear", null);
    expect(order.map((entry) => entry.name)).toEqual(["a", "b", "c", "u"]);
    expect(order.map((entry) => entry.place)).toEqual([0, 1, 2, 3]);
  });

  it("gives those whose values read alike one rank: nobody can tell them apart", () => {
    const near = { ...racer("b", 1.0001), text: "1" };
    const order = placed([racer("c", 2), near, racer("a", 1)], "linear", null);
    expect(order.map((entry) => [entry.name, entry.rank])).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 3],
    ]);
  });

  it("puts what is only modelled below what was measured, without a rank", () => {
    const order = placed(
      [{ ...racer("m", 1), isModelled: true }, racer("b", 3), racer("a", 2)],
      "linear",
      null,
    );
    expect(order.map((entry) => [entry.name, entry.rank])).toEqual([
      ["a", 1],
      ["b", 2],
      ["m", null],
    ]);
  });

  it("puts lower ends below what was finished, and gives no rank that waiting tasks could undo", () => {
    const order = placed(
      [
        { ...racer("l", 0.5), isLeast: true, hasPlace: false },
        { ...racer("b", 3), hasPlace: false },
        racer("a", 0.4),
      ],
      "linear",
      null,
    );
    expect(order.map((entry) => [entry.name, entry.rank])).toEqual([
      ["a", 1],
      ["b", null],
      ["l", null],
    ]);
  });

  it("draws lengths in proportion on the linear scale", () => {
    const order = placed([racer("a", 1), racer("b", 4)], "linear", null);
    expect(order.map((entry) => entry.length)).toEqual([0.25, 1]);
  });

  it("keeps the bound on the same scale as the bars", () => {
    const [only] = placed([racer("a", 1)], "linear", 2);
    expect(only?.length).toBe(0.5);
  });

  it("keeps every bar visible on the log scale and the longest full", () => {
    const toLength = lengthOf([1, 10, 1000], "log");
    expect(toLength(1)).toBeCloseTo(0.12);
    expect(toLength(1000)).toBeCloseTo(1);
    expect(toLength(10)).toBeGreaterThan(toLength(1));
  });

  it("chooses the log scale only when the slowest would squash the others", () => {
    expect(fittingScale([1, 39])).toBe("linear");
    expect(fittingScale([1, 41])).toBe("log");
    expect(fittingScale([null, 0])).toBe("linear");
  });

  it("does not divide by nothing when there are no values", () => {
    const [only] = placed([racer("a", null)], "log", null);
    expect(only?.length).toBeNull();
  });
});
