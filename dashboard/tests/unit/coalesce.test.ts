import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { coalescer } from "@/live/coalesce";
import { backOffMs } from "@/live/socket";

describe("coalescing", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("hands ten messages a second over at most twice a second and loses none", () => {
    const slots: number[][] = [];
    const { push } = coalescer<number>((items) => slots.push(items), 450);
    for (let i = 0; i < 100; i += 1) {
      push(i);
      vi.advanceTimersByTime(100);
    }
    vi.advanceTimersByTime(1000);
    expect(slots.length).toBeLessThanOrEqual(24);
    expect(slots.flat()).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it("shows the first message after a quiet time at once", () => {
    const slots: string[][] = [];
    const { push } = coalescer<string>((items) => slots.push(items), 450);
    push("first");
    vi.advanceTimersByTime(1);
    expect(slots).toEqual([["first"]]);
  });
});

describe("the back-off", () => {
  it("doubles up to a bound, with some jitter", () => {
    expect([1, 2, 3, 4].map((attempt) => backOffMs(attempt, 0))).toEqual([500, 1000, 2000, 4000]);
    expect(backOffMs(50, 1)).toBe(18_750);
  });
});
