import { PriceChart } from "@/charts/PriceChart";
import type { Recommendation, RecommendationRecord, RecommendationTrial } from "@/client/types";
import { SourceChip } from "@/features/runs/SourceChip";
import { ScrollTable } from "@/features/widgets/ScrollTable";
import { Widget } from "@/features/widgets/Widget";
import { tasksText } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { bestOfNodes, targetText, valueText, withoutOptions } from "./demand";

const TONES: Record<RecommendationTrial["verdict"], string> = {
  kept: "var(--good)",
  broken: "var(--bad)",
  open: "var(--warn)",
};
const VERDICTS: Record<RecommendationTrial["verdict"], string> = {
  kept: "keeps it",
  broken: "breaks it",
  open: "not decided",
};
const HEADS = ["Node", "Policy", "Target", "Price an hour", "Value", "95 % interval", "Runs"];

interface PartProps {
  asked: Recommendation;
  record: RecommendationRecord;
}

/** The answer in words, the nodes by price, and what the answer hangs on. */
export function AnswerWidget({ asked, record }: PartProps) {
  const face = useFaces();
  const [first, ...rest] = record.sentences;
  const points = bestOfNodes(record).flatMap((one) =>
    one.mean === null
      ? []
      : [
          {
            name: one.node,
            detail: `${face(one.policy).label}, ${valueText(record, one.mean)}, ${VERDICTS[one.verdict]}`,
            price: one.price_usd_h,
            value: one.mean,
            low: one.interval?.[0] ?? null,
            high: one.interval?.[1] ?? null,
            tone: TONES[one.verdict],
            isChosen: record.recommended?.node === one.node,
          },
        ],
  );
  const assumptions = record.assumptions.length;
  return (
    <Widget
      title="Nodes by price"
      meaning="Every node with its best policy: what it costs an hour, and what the model says of the target's figure, with its 95 % interval over seeds. Below the dashed line the target is kept. Nothing here was measured on such a node: prices are examples, times follow from published figures."
      table={() => tableOf(record)}
      controls={<SourceChip source="modelled" />}
      foot={`${tasksText(record.tasks)} of ${asked.workload}; ${assumptions} assumptions are listed below the table.`}
    >
      <p className="text-base font-semibold" data-answer="first">
        {first}
      </p>
      {rest.length > 0 && (
        <p className="mt-1 text-sm leading-relaxed text-muted">{withoutOptions(rest.join(" "))}</p>
      )}
      <div className="mt-3 h-72">
        <PriceChart
          points={points}
          limit={record.promise.limit}
          limitText={targetText(record.promise.text)}
          valueLabel={record.promise.head.toLowerCase()}
          format={(value) => valueText(record, value)}
        />
      </div>
    </Widget>
  );
}

function tableOf(record: RecommendationRecord) {
  return {
    columns: ["node", "policy", "verdict", "price_usd_h", "mean", "low", "high", "runs", "source"],
    rows: record.trials.map((one) => [
      one.node,
      one.policy,
      one.verdict,
      one.price_usd_h,
      one.mean,
      one.interval?.[0],
      one.interval?.[1],
      one.seeds,
      record.kind,
    ]),
  };
}

/** Every policy on every node. */
export function TrialsWidget({ record }: { record: RecommendationRecord }) {
  const face = useFaces();
  const best = record.recommended;
  return (
    <Widget
      title="Policies on nodes"
      meaning="Every policy on every node that was tried, cheapest nodes first. A pair that is decided gets no more runs."
      table={() => tableOf(record)}
      controls={<SourceChip source="modelled" />}
    >
      <ScrollTable label="Every policy on every node" heads={HEADS} words={3} height="max-h-80">
        {record.trials.map((one) => (
          <tr
            key={`${one.node} ${one.policy}`}
            className={one.node === best?.node && one.policy === best.policy ? "font-semibold" : ""}
          >
            <td className="text-left">{one.node}</td>
            <td className="text-left">{face(one.policy).label}</td>
            <td className="text-left" style={{ color: TONES[one.verdict] }}>
              {VERDICTS[one.verdict]}
            </td>
            <td>{`$${one.price_usd_h.toFixed(2)}`}</td>
            <td>{one.mean === null ? "tasks fail" : valueText(record, one.mean)}</td>
            <td>
              {one.interval === null ? "–" : one.interval.map((end) => valueText(record, end)).join(" to ")}
            </td>
            <td>{one.seeds}</td>
          </tr>
        ))}
      </ScrollTable>
      <details className="mt-2 text-xs text-muted">
        <summary className="cursor-pointer">What was assumed ({record.assumptions.length})</summary>
        <ul className="mt-1 list-disc pl-5 leading-relaxed">
          {record.assumptions.map((note) => (
            <li key={note} className="break-words">
              {note}
            </li>
          ))}
        </ul>
      </details>
    </Widget>
  );
}
