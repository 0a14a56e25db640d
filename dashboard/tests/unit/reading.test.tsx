import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Legend } from "@/charts/Legend";
import { grades } from "@/charts/race";
import { wordsBeside } from "@/charts/series";
import { logBounds, valueTicks } from "@/charts/trendAxis";
import { pathsApiHistoryLedgerGetParametersQuerySortValues as SORTABLE } from "@/client/schema";
import type { Bound, Comparison, LearningState, Notification } from "@/client/types";
import { latencyScale, scaleEnd } from "@/features/audit/latencyScale";
import { knownReasons, REASON_WORDS } from "@/features/audit/reasonWords";
import { measured, shapesOf } from "@/features/audit/shapes";
import { soonestFirst } from "@/features/audit/soonest";
import { boundSentence } from "@/features/race/BoundNote";
import { bests, ordered } from "@/features/race/SummaryWidget";
import { bestFirst } from "@/features/race/wins";
import { newestOf, noticeWords } from "@/features/shell/news";
import { learningSentence } from "@/features/strategy/LearningNote";
import { rankOf } from "@/features/strategy/standing";
import { askOf } from "@/features/tasks/ledger";
import { About } from "@/features/widgets/About";
import { brief, gap, tidy } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { metricCard } from "@/lib/metrics";
import { picked } from "@/lib/useHidden";
import { AUDIT, last, SNAPSHOT, STATS } from "../fixtures";

describe("numbers and axes can be read", () => {
  it("a gap that would round to nothing is not called nothing", () => {
    expect(gap(0.000_01)).toBe("< 0.01 %");
    expect(gap(0)).toBe("+0.00 %");
    expect(gap(0.001)).toBe("+0.10 %");
  });

  it("ticks carry no trailing zeros and keep their units", () => {
    expect(["10.0 s", "1.00 s", "0.0950", "100 ms", "$1.50", "1,000 s"].map(tidy)).toEqual([
      "10 s",
      "1 s",
      "0.095",
      "100 ms",
      "$1.5",
      "1,000 s",
    ]);
    expect([100, 1046, 23_000].map(brief)).toEqual(["100", "1.0k", "23k"]);
  });

  it("the race's axis has round values on the scale of the bars", () => {
    expect(grades([40, 100], "linear", 5).map((step) => [step.value, step.at])).toEqual(
      [0, 20, 40, 60, 80, 100].map((value) => [value, value / 100]),
    );
    const log = grades([0.05, 500], "log", 6);
    expect(log.map((step) => step.value)).toEqual([0.1, 1, 10, 100]);
    expect(log.every((step, i) => i === 0 || step.at > (log[i - 1]?.at ?? 0))).toBe(true);
    expect(grades([0.05, 500], "log", 2)).toHaveLength(2);
    expect(grades([null], "log", 6)).toEqual([]);
    const tight = grades([0.075, 8.15], "log", 5);
    expect(tight.every((step, i) => i === 0 || step.at - (tight[i - 1]?.at ?? 0) >= 1 / 6)).toBe(true);
  });

  it("the trend's ticks end beyond the highest value, and a flat line is no drama", () => {
    expect(valueTicks([3, 9.7], false, 4).at(-1)).toBeGreaterThanOrEqual(9.7);
    const [low, high] = logBounds([1, 1.01]);
    expect(high / low).toBeGreaterThan(3);
    expect(valueTicks([0.001, 1000, null], true, 4).length).toBeGreaterThanOrEqual(2);
  });

  it("words of close markers never touch, and what has no room is not written", () => {
    const marks = [10, 12, 14, 16, 300].map((at) => ({ at, text: "cpu friendly" }));
    const words = wordsBeside(marks, () => 80, { left: 0, right: 400, lines: 3, gap: 6 });
    expect(words.map((word) => word.line)).toEqual([0, 1, 2, null, 0]);
    expect(words.at(-1)?.left).toBe(306);
    const edge = wordsBeside([{ at: 399, text: "x" }], () => 80, { left: 0, right: 400, lines: 3, gap: 6 });
    expect(edge[0]?.left).toBe(320);
  });
});

describe("lines can be put aside", () => {
  const all = ["a", "b", "c"];

  it("a pick shows one alone and then all again; with Shift it hides or shows one", () => {
    expect(picked(all, new Set(), "b", false)).toEqual(["a", "c"]);
    expect(picked(all, new Set(["a", "c"]), "b", false)).toEqual([]);
    expect(picked(all, new Set(["a", "c"]), "a", false)).toEqual(["b", "c"]);
    expect(picked(all, new Set(["a"]), "b", true)).toEqual(["a", "b"]);
    expect(picked(all, new Set(["a", "b"]), "b", true)).toEqual(["a"]);
  });

  it("the legend tells which lines are drawn and passes the pick on", () => {
    const picks: [string, boolean][] = [];
    render(
      <Legend
        entries={[{ key: "a", label: "A", colour: "#22d3ee", dash: "7 4" }]}
        hidden={new Set(["a"])}
        onPick={(key, one) => picks.push([key, one])}
      />,
    );
    const button = screen.getByRole("button", { name: "A" });
    expect(button).toHaveAttribute("aria-pressed", "false");
    fireEvent.click(button, { shiftKey: true });
    expect(picks).toEqual([["a", true]]);
  });
});

describe("orders", () => {
  it("the summary puts the best first by any column", () => {
    const byLatency = ordered(last.comparison, "avg_latency").map((row) => row.avg_latency ?? 0);
    expect(byLatency).toEqual([...byLatency].sort((a, b) => a - b));
    const byEfficiency = ordered(last.comparison, "efficiency").map((row) => row.efficiency ?? 0);
    expect(byEfficiency).toEqual([...byEfficiency].sort((a, b) => b - a));
    expect(ordered(last.comparison, "drop table")).toEqual(last.comparison);
  });

  it("the win matrix keeps every share when it is sorted", () => {
    const wins = STATS.win_loss.latency;
    if (!wins) throw new Error("the fixture has no matrix");
    const found = bestFirst(wins);
    expect([...found.schedulers].sort()).toEqual([...wins.schedulers].sort());
    for (const [i, row] of found.schedulers.entries())
      for (const [j, column] of found.schedulers.entries())
        expect(found.share[i]?.[j] ?? null).toBe(
          wins.share[wins.schedulers.indexOf(row)]?.[wins.schedulers.indexOf(column)] ?? null,
        );
    const lead = (i: number): number =>
      (found.share[i] ?? []).reduce<number>(
        (sum, won, j) => sum + (won ?? 0) - (found.share[j]?.[i] ?? 0),
        0,
      );
    expect(lead(0)).toBeGreaterThanOrEqual(lead(found.schedulers.length - 1));
  });

  it("values that read alike share a place", () => {
    const format = (value: number | null | undefined): string => (value ?? 0).toFixed(0);
    const of = (row: { name: string }): number =>
      row.name === "oracle" ? 1 : row.name === "greedy" ? 2 : 2.1;
    const metric = { of, format, wire: "avg_latency" };
    expect(rankOf(last.comparison, "oracle", metric)).toBe(1);
    expect(rankOf(last.comparison, "greedy", metric)).toBe(2);
    expect(rankOf(last.comparison, "round_robin", metric)).toBe(rankOf(last.comparison, "greedy", metric));
    expect(rankOf(last.comparison, "nobody", metric)).toBeNull();
    const open = last.comparison.map((row) => ({ ...row, undecided: ["avg_latency"] }));
    expect(rankOf(open, "oracle", metric)).toBeNull();
  });

  it("the mark of the best is shared by all whose values read alike", () => {
    const [one] = last.comparison as [Comparison];
    const rows = [0.24701, 0.247, 0.25].map((avg_latency, i) => ({ ...one, name: `s${i}`, avg_latency }));
    expect(bests(rows).avg_latency).toBe("247 ms");
    expect(bests(rows.slice(0, 1)).avg_latency).toBeNull();
    expect(bests(rows.map((row) => ({ ...row, avg_latency: null }))).avg_latency).toBeNull();
  });

  it("of a run that is past, no bound is promised for later", () => {
    const bound = { scope: "None is kept.", tasks: 0, makespan_s: null, execution_s: null } as Bound;
    expect(boundSentence(metricCard("latency"), bound, false)).toContain("once tasks have finished");
    expect(boundSentence(metricCard("latency"), bound, true)).toBe("None is kept.");
    expect(boundSentence(metricCard("cost"), bound, true)).toBeNull();
  });

  it("an error without digits is not called zero, and rounding has no digits at all", () => {
    const said =
      "hybrid_ml retrained on 50 samples, error 0.0000, in 0.10 s. Another has an error of 0.0000.";
    expect(noticeWords({ message: said })).toBe(
      "hybrid_ml retrained on 50 samples, error below 0.0001, in 0.10 s. Another has an error of below 0.0001.",
    );
    expect(noticeWords({ message: "x, error 0.0101, in 1 s" })).toBe("x, error 0.0101, in 1 s");
    const state = { kind: "forest", updates: 1, coalesced: 0, error: 7.9e-17 } as LearningState;
    const none = { samples: null, epsilon: null, loss: null, tasks_per_update: null };
    expect(learningSentence({ ...state, ...none })).toBe("Retrained once; mean error ≈ 0.");
    expect(learningSentence({ ...state, ...none, error: 0.2015 })).toContain("mean error 0.20");
  });

  it("a task's strategies come soonest first, and one long queue does not flatten the bars", () => {
    const latencies = soonestFirst(AUDIT, []).map((name) => AUDIT.strategies[name]?.latency ?? Infinity);
    expect(latencies).toEqual([...latencies].sort((a, b) => a - b));
    expect(scaleEnd([0.05, 0.06, 0.2, 1200])).toBe(0.2);
    expect(scaleEnd([1, 2, 3])).toBe(3);
    expect(scaleEnd([])).toBe(1);
  });
});

describe("every word can be explained", () => {
  it("each reason of the built-in learners has its meaning and its unit", () => {
    for (const name of ["hybrid_ml", "rl_agent", "oracle"]) {
      const reason = AUDIT.strategies[name]?.reason ?? {};
      for (const shape of shapesOf(reason)) expect(Object.keys(REASON_WORDS)).toContain(shape.key);
    }
    expect(knownReasons(AUDIT.strategies.hybrid_ml?.reason ?? {}).length).toBeGreaterThan(8);
    expect(measured("spread", 0.0044)).toBe("0.4 %");
    expect(measured("completion_s", 0.0417)).toBe("41.7 ms");
    expect(measured("memory_required", 29.26)).toBe("29.3 MB");
    expect(measured("a_plugins_word", 3)).toBe("3");
  });

  it("the “i” holds the sentence and the terms", () => {
    render(<About title="Race" meaning="Who leads." terms={[TERMS.latency]} />);
    expect(screen.getByRole("button", { name: "What Race shows" })).toBeInTheDocument();
    expect(screen.getByText("Who leads.")).toBeInTheDocument();
    expect(screen.getByText(TERMS.latency.meaning)).toBeInTheDocument();
  });

  it("the ledger sorts by whatever the service can sort by", () => {
    for (const column of SORTABLE) expect(askOf(new URLSearchParams({ sort: column }), 1).sort).toBe(column);
    expect(SORTABLE.length).toBeGreaterThan(10);
  });
});

describe("everybody's latency for one task", () => {
  const among = (latencies: readonly number[]) => latencyScale(latencies, [0.02]);

  it("is linear where all bars can be seen, cut where one is far away, and log where many are", () => {
    const near = among([1, 2, 4]);
    expect([near.isLog, near.end, near.at(2)]).toEqual([false, 4, 0.5]);
    const one = among([1, 2, 400]);
    expect([one.isLog, one.end, one.at(400)]).toEqual([false, 2, 1]);
    const wide = among([0.03, 0.05, 0.1, 90, 138]);
    expect([wide.isLog, wide.end, wide.at(138), wide.at(0)]).toEqual([true, 138, 1, 0]);
    expect(wide.at(0.02)).toBeGreaterThan(0.03);
    expect(wide.at(0.03)).toBeGreaterThan(0.05);
    expect(wide.at(0.1)).toBeGreaterThan(wide.at(0.05));
  });
});

describe("news", () => {
  const notice = SNAPSHOT.notifications[0] ?? {
    type: "notification" as const,
    id: 1,
    key: "",
    level: "info" as const,
    message: "",
    at: "",
    event: "",
    data: {},
  };
  const at = (seconds: number, event: string) => ({
    ...notice,
    event,
    at: new Date(1e12 + seconds * 1000).toISOString(),
  });

  it("a retraining is told once in a while, and always after a shift", () => {
    const told = (...notices: readonly [number, string][]): number => {
      const list = notices.map(([seconds, event]) => at(seconds, event));
      return list.indexOf(newestOf(list) as Notification);
    };
    const [retrained, shifted] = ["model_retrained", "workload_shifted"];
    // 1e12 ms lies 10 s after the beginning of a stretch of 45 s.
    expect(told([0, "race_started"], [3, retrained])).toBe(1);
    expect(told([0, "race_started"], [3, retrained], [5, retrained])).toBe(1);
    expect(told([0, "race_started"], [3, retrained], [5, retrained], [36, retrained])).toBe(3);
    expect(told([3, retrained], [6, shifted], [6.5, retrained])).toBe(1);
    expect(told([3, retrained], [6, shifted], [6.5, retrained], [9, retrained])).toBe(3);
    expect(told([3, retrained], [6, shifted], [9, retrained], [30, retrained])).toBe(2);
  });

  it("the same is news however much of the past a tab has seen", () => {
    const list = Array.from({ length: 40 }, (_, i) => at(3 * i, "model_retrained"));
    expect([0, 3, 7, 11].map((from) => newestOf(list.slice(from))?.at)).toEqual(
      Array(4).fill(newestOf(list)?.at),
    );
    expect(newestOf([])).toBeNull();
  });
});
