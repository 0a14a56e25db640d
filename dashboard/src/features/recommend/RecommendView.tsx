import { cancelRecommendation, removeRecommendation, useRecommendations } from "@/client/recommendations";
import type { Recommendation } from "@/client/types";
import { PickField } from "@/features/widgets/Fields";
import { Trouble } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, wallDay } from "@/lib/format";
import { useView } from "@/lib/url";
import { AnswerWidget, TrialsWidget } from "./AnswerWidget";
import { AskForm } from "./AskForm";
import { askedText } from "./demand";

const NONE: readonly Recommendation[] = [];
const NO_POLICIES: readonly string[] = [];

const titleOf = (one: Recommendation): string =>
  `${one.recommendation_id}. ${one.workload}, ${askedText(one.demand)} (${one.state}, ${wallDay(one.at)})`;

/** How far the search is, with a way to end it. */
function Search({ one }: { one: Recommendation }) {
  const { label, done, total } = one.progress ?? { label: "beginning", done: 0, total: 0 };
  return (
    <div className="glass flex flex-wrap items-center gap-3 px-4 py-3 text-sm">
      <p role="status" className="min-w-0 flex-1">
        {total > 0 ? `${count(done)} of about ${count(total)} runs: ${label}` : "The search begins …"}
      </p>
      <progress
        className="h-2 w-40 accent-ml"
        aria-label="Runs of the search"
        value={done}
        max={total || 1}
      />
      <button
        type="button"
        className="press"
        onClick={() => void cancelRecommendation(one.recommendation_id)}
      >
        Cancel
      </button>
    </div>
  );
}

function Found({ one }: { one: Recommendation }) {
  if (one.state === "running") return <Search one={one} />;
  if (one.record == null)
    return (
      <div className="glass p-4">
        <Trouble title={one.state === "cancelled" ? "The search was cancelled" : "There is no answer"}>
          {one.problem}
        </Trouble>
      </div>
    );
  return (
    <>
      <AnswerWidget asked={one} record={one.record} />
      <TrialsWidget record={one.record} />
    </>
  );
}

/** Which node and which policy keep a target: asked of the model, beside the race. */
export function RecommendView() {
  const kept = useRecommendations().data;
  const all = kept?.recommendations ?? NONE;
  const [params, change] = useView();
  const wanted = Number(params.get("recommendation"));
  const one = all.find((each) => each.recommendation_id === wanted) ?? all[0];
  return (
    <div className="flex flex-col gap-3.5">
      <title>Recommend · Hybrid ML Scheduler</title>
      <Widget
        title="Which node, and which policy?"
        meaning="The cheapest node and policy that keep a target for a workload, or the best for a budget, searched for in the model with paired seeds. The search runs in a process of its own at low priority, so that the race keeps its pace. Prices are examples until you give your own."
        foot="The answer is modelled, not measured. It is kept, and its address can be sent."
      >
        <AskForm
          isBusy={all[0]?.state === "running"}
          usual={kept?.usual_policies ?? NO_POLICIES}
          onAsked={(id) => change({ recommendation: String(id) })}
        />
        {one && (
          <div className="mt-1 flex items-end gap-2">
            <div className="min-w-0 flex-1">
              <PickField
                label="Answers so far"
                title="Recommendations that are kept, newest first"
                value={String(one.recommendation_id)}
                options={all.map((each) => ({ key: String(each.recommendation_id), label: titleOf(each) }))}
                onChange={(key) => change({ recommendation: key })}
              />
            </div>
            <button
              type="button"
              className="press h-8"
              onClick={() => void removeRecommendation(one.recommendation_id)}
            >
              Remove
            </button>
          </div>
        )}
      </Widget>
      {one && <Found one={one} />}
    </div>
  );
}
