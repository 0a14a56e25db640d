import { useStoredRun } from "@/client/queries";
import type { AdaptedStrategy } from "@/client/types";
import { NameCell } from "@/features/widgets/NameCell";
import { ScrollTable } from "@/features/widgets/ScrollTable";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { recoveryText } from "./adapted";
import { useChange } from "./useChange";

const HEADS = ["Strategy", "Before", "Since", "Worst", "Settled at", "Settled after"];

/** Before, since and at its worst; then what it settled at and when. */
function cells(one: AdaptedStrategy): string[] {
  return [
    seconds(one.before_s),
    seconds(one.after_s),
    seconds(one.worst_s),
    seconds(one.settled_s),
    recoveryText(one),
  ];
}

/** How soon each strategy was settled again after the change. */
export function RecoveryWidget() {
  const { answer } = useChange();
  const isPast = useStoredRun() !== null;
  const face = useFaces();
  const strategies = answer.data?.strategies ?? [];
  const table = () => ({
    columns: ["scheduler", "before_s", "after_s", "worst_s", "settled_s", "recovery_tasks", "recovery_s"],
    rows: strategies.map((one) => [
      one.name,
      one.before_s,
      one.after_s,
      one.worst_s,
      one.settled_s,
      one.recovery_tasks,
      one.recovery_s,
    ]),
  });
  return (
    <Widget
      title="Recovery after the change"
      meaning="The same change in figures: the mean loss of a task (its latency above its fastest execution) before the change, since then, and in the worst step. A strategy is settled from the first five steps whose median is at most a quarter above the median of the later half; one whose last two quarters are each a fifth above the quarter before is not settled yet."
      table={table}
      foot={
        strategies.length > 0
          ? "The strategy that lost least since the change stands first. A rule that never suffered is settled at once; a queue that grows never is."
          : undefined
      }
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={(found) => found.strategies.length === 0}
        empty={isPast ? "This run met no change" : "No change yet"}
      >
        {(found) => (
          <ScrollTable label="Recovery of every strategy" heads={HEADS} words={1}>
            {found.strategies.map((one) => (
              <tr key={one.name} data-strategy={one.name}>
                <th scope="row" className="py-1.5 text-left font-medium">
                  <NameCell colour={face(one.name).colour}>{face(one.name).label}</NameCell>
                </th>
                {cells(one).map((text, i) => (
                  <td key={HEADS[i + 1]} className={text === "not yet" ? "text-warn" : ""}>
                    {text}
                  </td>
                ))}
              </tr>
            ))}
          </ScrollTable>
        )}
      </Answer>
    </Widget>
  );
}
