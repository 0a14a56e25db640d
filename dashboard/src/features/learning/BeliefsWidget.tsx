import { useMemo } from "react";
import { useBeliefs } from "@/client/queries";
import type { BelievedCell } from "@/client/types";
import { Pick } from "@/features/widgets/Choice";
import { Answer, Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { counted, percent } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { deviceLabel } from "@/live/devices";
import { factorEnds, kindLabel, kindsOf, placeOf, times } from "./beliefs";

interface CellProps {
  cell: BelievedCell | undefined;
  ends: readonly [number, number];
  colour: string;
}

/** The interval of what is believed now, the belief then, and what happened. */
function Cell({ cell, ends, colour }: CellProps) {
  if (!cell) return <td className="text-center text-muted">–</td>;
  const at = (factor: number): string => `${placeOf(factor, ends)}%`;
  const words = `believed ${times(cell.believed)}, happened ${times(cell.happened)}, off by ${percent(cell.error)} over the latest of ${counted(cell.runs, "run")}`;
  return (
    <td className="py-1" title={words} data-error={cell.error}>
      <div className="flex items-center gap-2">
        <svg className="h-4 w-0 min-w-16 flex-1" aria-hidden="true">
          <line x1={at(1)} x2={at(1)} y1="0" y2="16" stroke="var(--line)" />
          <line
            x1={at(cell.low)}
            x2={at(cell.high)}
            y1="8"
            y2="8"
            stroke={colour}
            strokeWidth="5"
            opacity="0.3"
          />
          <circle cx={at(cell.believed)} cy="8" r="4" fill={colour} />
          <line
            x1={at(cell.happened)}
            x2={at(cell.happened)}
            y1="1"
            y2="15"
            stroke="var(--ink)"
            strokeWidth="2"
          />
        </svg>
        <span className="w-24 text-right">
          {times(cell.believed)} <span className="text-muted">{times(cell.happened)}</span>
        </span>
        <span className={`w-11 text-right ${cell.error > 0.5 ? "text-warn" : ""}`}>
          {percent(cell.error)}
        </span>
      </div>
    </td>
  );
}

/** What a strategy believed of each kind of work on each type of device, and what happened. */
export function BeliefsWidget() {
  const [params, change] = useView();
  const racers = useRacers();
  const face = useFaces();
  const theme = useTheme((s) => s.theme);
  const wish = params.get("believer");
  const told = racers.filter(
    (name) => !name.includes("@exact") && !name.includes("@nominal") && name !== "oracle",
  );
  const chosen =
    racers.find((name) => name === wish) ?? told.find((name) => name === "hybrid_ml") ?? told[0] ?? null;
  const { isMeasured } = useRunWords();
  const answer = useBeliefs(isMeasured ? null : chosen);
  const beliefs = answer.data;
  const ends = useMemo(() => factorEnds(beliefs?.cells ?? []), [beliefs]);
  const table = () => ({
    columns: ["scheduler", "kind", "device", "runs", "believed", "happened", "error", "now", "low", "high"],
    rows: (beliefs?.cells ?? []).map((c) => [
      beliefs?.scheduler,
      c.kind,
      c.device,
      c.runs,
      c.believed,
      c.happened,
      c.error,
      c.now,
      c.low,
      c.high,
    ]),
  });
  return (
    <Widget
      title="Believed against happened"
      meaning="For each kind of work on each type of device: how many times its nominal seconds a task was believed to take when it was decided (dot, first number), and how many it took (line, second number), as means over its latest runs on this strategy's own cluster. Per cent: how far off a single task was. The pale band is the 90 % interval of what is believed now. The scale is logarithmic; the thin line is ×1, the formula."
      table={table}
      controls={
        racers.length > 1 && (
          <Pick
            label="Whose beliefs"
            value={chosen ?? ""}
            options={told.map((key) => ({ key, label: face(key).label }))}
            onChange={(key) => change({ believer: key })}
          />
        )
      }
      foot={
        beliefs && beliefs.cells.length > 0
          ? `Dot: believed; line: happened; band: 90 % interval now. ${counted(beliefs.drifts, "change")} of durations noticed so far.`
          : undefined
      }
    >
      {isMeasured ? (
        <Empty title="What was believed is not kept">
          A real run stores what happened. hms run prints what the model had expected.
        </Empty>
      ) : (
        <Answer
          data={beliefs}
          error={answer.error}
          isEmpty={(found) => found.cells.length === 0}
          empty={
            beliefs && beliefs.level !== "learned"
              ? `${chosen ? face(chosen).label : "It"} is told the durations and has nothing to learn about them`
              : "No task has finished yet"
          }
        >
          {(found) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
            <section aria-label="Beliefs by kind and device" className="h-full overflow-auto" tabIndex={0}>
              <table className="figure w-full min-w-[34rem] table-fixed text-xs">
                <thead className="sticky top-0 z-10 text-muted" style={{ background: "var(--panel-solid)" }}>
                  <tr>
                    <th scope="col" className="w-20 py-1.5 pr-3 text-left font-medium">
                      Kind
                    </th>
                    {found.devices.map((device) => (
                      <th key={device} scope="col" className="pr-3 text-left font-medium">
                        {deviceLabel(device)}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {kindsOf(found).map((kind) => (
                    <tr key={kind} className="border-t border-line [&_td]:pr-3" data-kind={kind}>
                      <th scope="row" className="pr-3 text-left font-medium whitespace-nowrap">
                        {kindLabel(kind)}
                      </th>
                      {found.devices.map((device, i) => (
                        <Cell
                          key={device}
                          cell={found.cells.find((one) => one.kind === kind && one.device === device)}
                          ends={ends}
                          colour={deviceColour(i, theme)}
                        />
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )}
        </Answer>
      )}
    </Widget>
  );
}
