import { render, screen, within } from "@testing-library/react";
import type { ReactNode } from "react";
import { MemoryRouter } from "react-router";
import { describe, expect, it } from "vitest";
import { BestDeviceMap } from "@/charts/BestDeviceMap";
import { correlationColour, winColour } from "@/charts/diverging";
import { Matrix } from "@/charts/Matrix";
import { OracleRadar } from "@/charts/OracleRadar";
import { RaceBars } from "@/charts/RaceBars";
import { spokes } from "@/charts/radar";
import { SizeHistogram } from "@/charts/SizeHistogram";
import { SplitBar } from "@/charts/SplitBar";
import { TrendLines } from "@/charts/TrendLines";
import { Reasons } from "@/features/audit/Reasons";
import { strategiesOf, trendRows } from "@/features/history/trend";
import { boundFor, extrasOf } from "@/features/race/RaceWidget";
import { metricCard } from "@/lib/metrics";
import { finishedText } from "@/lib/places";
import { AUDIT, last, STATS, TREND } from "../fixtures";

const within_router = (children: ReactNode) => render(<MemoryRouter>{children}</MemoryRouter>);

function racers(key: string) {
  const metric = metricCard(key);
  return last.comparison.map((row) => ({
    name: row.name,
    label: row.name,
    colour: "#22d3ee",
    value: metric.of(row),
    text: metric.format(metric.of(row)),
    running: row.avg_time,
    extras: extrasOf(row, metric.key, true),
    counts: [finishedText(row)],
    hasPlace: true,
    isLeast: false,
  }));
}

describe("charts drawn from what a real service said", () => {
  it("race bars hold every strategy's true value and rank the best first", () => {
    within_router(
      <RaceBars
        racers={racers("latency")}
        scale="linear"
        bound={null}
        boundText=""
        valueLabel="Latency"
        format={String}
        hrefOf={(n) => `/${n}`}
      />,
    );
    const best = [...last.comparison].sort((a, b) => (a.avg_latency ?? 0) - (b.avg_latency ?? 0))[0];
    const links = screen.getAllByRole("link");
    expect(links).toHaveLength(last.comparison.length);
    const leader = links.find((link) => link.getAttribute("aria-label")?.startsWith("1. "));
    expect(leader).toHaveAttribute("data-racer", best?.name);
    expect(Number(leader?.getAttribute("data-value"))).toBe(best?.avg_latency);
  });

  it("the bound stands below every strategy's makespan and mean time", () => {
    const makespan = boundFor("makespan", last.bound, last.comparison);
    const time = boundFor("time", last.bound, last.comparison);
    for (const row of last.comparison) {
      expect(row.makespan).toBeGreaterThanOrEqual(makespan ?? Number.POSITIVE_INFINITY);
      expect(row.time_gap).toBeGreaterThanOrEqual(0);
    }
    expect(time).toBeGreaterThan(0);
    expect(boundFor("energy", last.bound, last.comparison)).toBeNull();
    const failing = last.comparison.map((row) => ({ ...row, failed: 1 }));
    expect(boundFor("time", last.bound, failing)).toBeNull();
  });

  it("the win matrix shows each share and says the sentence", () => {
    const wins = STATS.win_loss.latency;
    if (!wins) throw new Error("the fixture has no matrix");
    render(
      <Matrix
        caption="wins"
        names={wins.schedulers}
        labels={wins.schedulers}
        values={wins.share}
        colourOf={(value, i, j) => winColour(value, wins.share[j]?.[i] ?? 0)}
        textOf={(value) => String(Math.round(value * 100))}
        sentenceOf={(row, column) => `${row} beats ${column}`}
      />,
    );
    const [first, second] = wins.schedulers;
    const cell = screen.getByTitle(`${first} beats ${second}`);
    expect(cell).toHaveTextContent(String(Math.round((wins.share[0]?.[1] ?? 0) * 100)));
    expect(screen.getAllByRole("row")).toHaveLength(wins.schedulers.length + 1);
  });

  it("colours of matrices follow the sign: green wins, rose loses, blue is −1, red is +1", () => {
    expect(winColour(0.9, 0.1)).toContain("--good");
    expect(winColour(0.1, 0.9)).toContain("--bad");
    expect(winColour(0, 0)).toContain(" 0%");
    expect(correlationColour(-1)).toContain("--diverge-low");
    expect(correlationColour(1)).toContain("--diverge-high");
  });

  it("the heat map has a cell for every range and names the device", () => {
    const { container } = render(<BestDeviceMap map={STATS.heat_map} theme="dark" />);
    const filled = STATS.heat_map.cells.filter((cell) => cell.tasks > 0);
    expect(container.querySelectorAll("[data-place]")).toHaveLength(filled.length);
    expect(filled.reduce((sum, cell) => sum + cell.tasks, 0)).toBe(STATS.tasks);
  });

  it("the histogram counts every task", () => {
    render(<SizeHistogram bounds={STATS.sizes.bounds} counts={STATS.sizes.counts} />);
    expect(screen.getByRole("img")).toHaveAccessibleName(`Histogram of ${STATS.tasks} task sizes`);
  });

  it("the split bar shares out all decisions", () => {
    const row = last.comparison.find((entry) => entry.name === "round_robin");
    if (!row) throw new Error("round_robin is missing");
    const { container } = render(<SplitBar decisions={row.decisions} theme="dark" />);
    const shares = [...container.querySelectorAll("dd")].map((dd) => Number.parseFloat(dd.textContent ?? ""));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 0);
    expect(shares[0]).toBeCloseTo(50, 0);
  });

  it("the radar names every measure with its ratio and draws a figure with an area", () => {
    const find = (name: string) => last.comparison.find((entry) => entry.name === name);
    const found = spokes([
      { axis: "Time", mine: find("greedy")?.avg_time ?? null, oracle: find("oracle")?.avg_time ?? null },
      {
        axis: "Energy",
        mine: find("greedy")?.avg_energy ?? null,
        oracle: find("oracle")?.avg_energy ?? null,
      },
      { axis: "Cost", mine: find("greedy")?.avg_cost ?? null, oracle: find("oracle")?.avg_cost ?? null },
    ]);
    const { container } = render(
      <OracleRadar spokes={found} colour="#22d3ee" oracleColour="#facc15" label="Greedy" />,
    );
    expect(screen.getByRole("img")).toHaveAccessibleName(/Time \d+\.\d\d×, Energy \d+\.\d\d×, Cost/);
    expect(container.querySelectorAll(".recharts-radar-polygon path").length).toBeGreaterThanOrEqual(2);
  });

  it("the radar's rings and lines have one scale: the oracle lies on the ring of 1×", () => {
    const found = spokes([
      { axis: "Time", mine: 3, oracle: 1 },
      { axis: "Energy", mine: 1, oracle: 2 },
      { axis: "Cost", mine: 1, oracle: 1 },
    ]);
    const { container } = render(
      <OracleRadar spokes={found} colour="#22d3ee" oracleColour="#facc15" label="Greedy" />,
    );
    const topOf = (path: Element | null | undefined): number =>
      Number(/^M\s*[-\d.]+[ ,]([-\d.]+)/.exec(path?.getAttribute("d") ?? "")?.[1]);
    const oracle = container.querySelector(".recharts-radar-polygon path");
    const rings = [...container.querySelectorAll(".recharts-polar-grid-concentric path")].map(topOf);
    expect(topOf(oracle)).toBeCloseTo(rings[1] as number, 3);
  });

  it("the trend keeps every stored mean and marks the shift", () => {
    const names = strategiesOf(TREND);
    const rows = trendRows(TREND, "latency", names, false);
    const grown = TREND.points.filter((point) => point.tasks >= TREND.tasks_per_point / 2);
    expect(rows.filter((row) => "task" in row)).toHaveLength(grown.length);
    expect(rows.map((row) => row.x)).toEqual(
      [...rows.map((row) => row.x)].sort((a, b) => Number(a) - Number(b)),
    );
    expect(rows[0]?.greedy).toBe(TREND.points[0]?.avg_latency.greedy);
    const { container } = within_router(
      <TrendLines
        label="Trend"
        names={names.map((key) => ({ key, label: key, colour: "#22d3ee" }))}
        points={rows}
        shifts={TREND.shifts.map((shift) => ({ x: shift.simulated_time_s, text: shift.workload }))}
        trainings={[]}
        log={false}
        axisTitle="mean latency"
        format={String}
      />,
    );
    expect(container.querySelectorAll(".recharts-line-curve")).toHaveLength(names.length);
    expect(container.querySelectorAll(".recharts-reference-line")).toHaveLength(TREND.shifts.length);
  });

  it("the forest's reasons show its spread and its contributions", () => {
    const forest = AUDIT.strategies.hybrid_ml;
    if (!forest) throw new Error("the fixture has no forest");
    const { container } = render(<Reasons reason={forest.reason} colour="#22d3ee" />);
    expect(within(container).getByText("spread")).toBeInTheDocument();
    expect(within(container).getByText("contributions")).toBeInTheDocument();
  });

  it("the oracle's reasons are drawn as a curve over its grid", () => {
    const oracle = AUDIT.strategies.oracle;
    if (!oracle) throw new Error("the fixture has no oracle");
    render(<Reasons reason={oracle.reason} colour="#facc15" />);
    expect(screen.getByRole("img")).toHaveAccessibleName(/least execution/);
  });
});
