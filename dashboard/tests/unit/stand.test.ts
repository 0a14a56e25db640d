import { describe, expect, it } from "vitest";
import { learningWords } from "@/features/strategy/LearningNote";
import { askOf, isFiltered } from "@/features/tasks/ledger";
import { cameToStand } from "@/live/stand";
import { last, STRATEGIES } from "../fixtures";

type Status = typeof last.status;

const of = (status: Partial<Status>, tasks = last.tasks_processed) => ({
  ...last,
  tasks_processed: tasks,
  status: { ...last.status, state: "running" as const, backlog_rows: 0, problem: null, ...status },
});

describe("what was read is read once more when the race comes to a stand", () => {
  it.each(["paused", "stopped"] as const)("when it is %s", (state) => {
    expect(cameToStand(of({}), of({ state }))).toBe(true);
    expect(cameToStand(of({ state }), of({ state }))).toBe(false);
  });

  it("when it is halted", () => {
    expect(cameToStand(of({}), of({ problem: "boom failed." }))).toBe(true);
  });

  it("and again once the last rows are stored or the last tasks are told", () => {
    const waiting = of({ state: "paused", backlog_rows: 12 });
    expect(cameToStand(waiting, of({ state: "paused" }))).toBe(true);
    expect(cameToStand(of({ state: "paused" }, 5), of({ state: "paused" }, 6))).toBe(true);
  });

  it("but not while it runs, and not for the first that is heard", () => {
    expect(cameToStand(of({}), of({}))).toBe(false);
    expect(cameToStand(of({ state: "paused" }), of({}))).toBe(false);
    expect(cameToStand(null, of({ state: "paused" }))).toBe(false);
  });
});

describe("only true sentences", () => {
  const card = { ...STRATEGIES[0], learns: false, in_race: true, kind: "baseline" } as (typeof STRATEGIES)[0];

  it("about learning", () => {
    expect(learningWords({ ...card, learns: true })).toContain("learns");
    expect(learningWords(card)).toContain("does not learn");
    expect(learningWords(card)).not.toContain("same way");
    expect(learningWords({ ...card, kind: "plugin", in_race: false })).toBeNull();
    expect(learningWords(undefined)).toBeNull();
  });

  it("about a beginning without tasks", () => {
    const all = askOf(new URLSearchParams(), 1);
    expect(isFiltered(all)).toBe(false);
    expect(isFiltered({ ...all, device: "cpu" })).toBe(true);
  });
});
