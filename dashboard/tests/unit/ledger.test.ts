import { describe, expect, it } from "vitest";
import { placesOf } from "@/features/tasks/LedgerFilters";
import { askOf, isNewest, queryOf, sortedBy } from "@/features/tasks/ledger";

const asked = (text: string, run: number | null = 3) => askOf(new URLSearchParams(text), run);

describe("the ledger's question", () => {
  it("comes from the URL and goes to the service", () => {
    const ask = asked("sort=latency&order=asc&by=greedy&on=cpu%2Bgpu_1&find=12&from=4&to=99&after=abc");
    expect(queryOf(ask)).toBe(
      "limit=50&sort=latency&order=asc&run_id=3&scheduler=greedy&device=cpu%2Bgpu_1&task_id=12&first_task=4&last_task=99&after=abc",
    );
  });

  it("is about the run that is shown, unless all runs are asked for", () => {
    expect(queryOf(asked("", 7))).toContain("run_id=7");
    expect(queryOf(asked("rows=all", 7))).not.toContain("run_id");
    expect(queryOf(asked("", null))).not.toContain("run_id");
  });

  it("falls back to the newest first when the URL is odd", () => {
    const ask = asked("sort=drop+table&find=abc&from=-1");
    expect(queryOf(ask)).toBe("limit=50&sort=task_id&order=desc&run_id=3");
    expect(isNewest(ask)).toBe(true);
  });

  it("sorts a new column downwards, the same column the other way, from the first page on", () => {
    const ask = asked("sort=time&order=desc&after=abc");
    expect(isNewest(ask)).toBe(false);
    expect(sortedBy(ask, "cost")).toEqual({ sort: "cost", order: "desc", after: null, before: null });
    expect(sortedBy(ask, "time")).toEqual({ sort: "time", order: "asc", after: null, before: null });
  });

  it("offers every place a task can go", () => {
    expect(placesOf(2)).toEqual(["cpu", "gpu_0", "gpu_1", "cpu+gpu_0", "cpu+gpu_1"]);
  });
});
