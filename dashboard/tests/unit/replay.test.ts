import { describe, expect, it } from "vitest";
import { movedOn, within } from "@/features/runs/replay";
import { branchWords } from "@/features/runs/words";
import { upTo } from "@/features/tasks/ledger";

const ends = { first: 100, last: 1099 };

describe("the replay of a stored run", () => {
  it("moves on with the time that has passed and stays at the last task", () => {
    expect(movedOn(100, ends, 200, 500)).toBe(200);
    expect(movedOn(1090, ends, 200, 500)).toBe(1099);
    expect(movedOn(500, ends, 10, 1)).toBe(501);
  });

  it("takes a moment outside the run as its nearest end", () => {
    expect(within(7, ends)).toBe(100);
    expect(within(5000, ends)).toBe(1099);
  });

  it("ends the ledger's rows at the moment, unless an earlier task was asked for", () => {
    expect(upTo("", 500)).toBe("500");
    expect(upTo("700", 500)).toBe("500");
    expect(upTo("300", 500)).toBe("300");
  });

  it("says where a branch left another run", () => {
    const branch = { run_id: 3, task_id: 42, first_task_id: 50, simulated_time_s: 1 };
    expect(branchWords({ branch })).toBe(" It left run 3 at task 42.");
    expect(branchWords({ branch: null })).toBe("");
  });
});
