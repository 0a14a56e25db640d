import { describe, expect, it } from "vitest";
import { placesOf } from "@/features/tasks/LedgerFilters";
import { askOf, queryOf, sortedBy } from "@/features/tasks/ledger";

describe("the ledger's question", () => {
  it("comes from the URL and goes to the service", () => {
    const ask = askOf(new URLSearchParams("sort=latency&order=asc&by=greedy&on=cpu%2Bgpu_1&find=12&page=3"));
    expect(queryOf(ask)).toBe(
      "limit=50&offset=100&sort=latency&order=asc&scheduler=greedy&device=cpu%2Bgpu_1&task_id=12",
    );
  });

  it("falls back to the newest first when the URL is odd", () => {
    const ask = askOf(new URLSearchParams("sort=drop+table&page=-4&find=abc"));
    expect(queryOf(ask)).toBe("limit=50&offset=0&sort=task_id&order=desc");
  });

  it("sorts a new column downwards, the same column the other way, from the first page on", () => {
    const ask = askOf(new URLSearchParams("sort=time&order=desc&page=2"));
    expect(sortedBy(ask, "cost")).toEqual({ sort: "cost", order: "desc", page: null });
    expect(sortedBy(ask, "time")).toEqual({ sort: "time", order: "asc", page: null });
  });

  it("offers every place a task can go", () => {
    expect(placesOf(2)).toEqual(["cpu", "gpu_0", "gpu_1", "cpu+gpu_0", "cpu+gpu_1"]);
  });
});
