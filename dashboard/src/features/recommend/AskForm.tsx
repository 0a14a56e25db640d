import { type FormEvent, useState } from "react";
import { useGpuTypes, usePresets, useStrategies } from "@/client/queries";
import { askForRecommendation } from "@/client/recommendations";
import { uploadLabel, useUploads } from "@/client/uploads";
import { amountOf } from "@/features/shell/newRun";
import { NumberField, PickField } from "@/features/widgets/Fields";
import { presetLabel } from "@/lib/presets";
import { countsOf, demandOf, isBest, MOST_NODES, MOST_POLICIES, priceOf, TARGETS } from "./demand";
import { Terms } from "./Terms";

const USUAL = new Set(["t4", "l4", "a100"]);

const toggled = (chosen: ReadonlySet<string>, name: string): ReadonlySet<string> =>
  chosen.has(name) ? new Set([...chosen].filter((one) => one !== name)) : new Set([...chosen, name]);

export interface AskFormProps {
  isBusy: boolean;
  /** What is considered where nobody chooses; empty until the service has said it. */
  usual: readonly string[];
  onAsked: (id: number) => void;
}

/** A workload, nodes to choose from, and a target or a budget. */
export function AskForm({ isBusy, usual, onAsked }: AskFormProps) {
  const presets = usePresets();
  const types = useGpuTypes();
  const traces = useUploads().filter((one) => one.use === "trace");
  const [source, setSource] = useState("mixed");
  const [tasks, setTasks] = useState("2000");
  const [rate, setRate] = useState("");
  const [metric, setMetric] = useState("p95_latency_s");
  const [limit, setLimit] = useState("2");
  const [counts, setCounts] = useState("1, 2, 4");
  const [picked, setPicked] = useState<ReadonlySet<string>>(USUAL);
  const [prices, setPrices] = useState<Readonly<Record<string, string>>>({});
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const policies = chosen ?? new Set(usual);
  // A level of knowledge or a file of somebody's own is no registered policy.
  const cards = useStrategies().filter(({ name, kind }) => !name.includes("@") && kind !== "plugin");
  const number = amountOf(tasks);
  const whole =
    number !== null && Number.isInteger(number) && number >= 10 && number <= 100_000 ? number : null;
  const gpus = countsOf(counts);
  const most = amountOf(limit);
  const known = types.filter((one) => picked.has(one.name)).map((one) => one.name);
  const nodes = known.length * (gpus?.length ?? 0);
  const own = known.filter((name) => prices[name] !== undefined);
  const problems = [
    whole === null && "Between 10 and 100,000 tasks are simulated.",
    rate !== "" && amountOf(rate) === null && "A load is a number of tasks per second above 0.",
    most === null && `The limit is a number of ${isBest(metric) ? "dollars" : "seconds"} above 0.`,
    gpus === null && "Numbers of GPUs are written as 1, 2, 4.",
    types.length > 0 && known.length === 0 && "Choose at least one type of GPU.",
    own.some((name) => priceOf(prices[name]) === null) && "A price is a number of dollars above 0.",
    chosen?.size === 0 && "Choose at least one policy.",
    policies.size > MOST_POLICIES && `At most ${MOST_POLICIES} policies are compared.`,
    nodes > MOST_NODES && `At most ${MOST_NODES} nodes are compared; these are ${nodes}.`,
  ].filter((one) => one !== false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (whole === null || gpus === null || most === null) return;
    const wish = {
      source,
      tasks: whole,
      rate: amountOf(rate),
      types: known,
      counts: gpus,
      metric,
      limit: most,
      prices: Object.fromEntries(own.map((name) => [name, priceOf(prices[name]) ?? 0])),
      policies: [...policies],
    };
    const begun = await askForRecommendation(demandOf(wish));
    if (begun !== null) onAsked(begun.recommendation_id);
  };
  return (
    <form
      className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-4"
      onSubmit={(event) => void submit(event)}
    >
      <PickField
        label="Workload"
        title="A preset, or a trace that was uploaded in the dialog of a new run"
        value={source}
        options={[
          ...presets.map((one) => ({ key: one.name, label: presetLabel(one.name), title: one.description })),
          ...traces.map((one) => ({ key: `upload:${one.upload_id}`, label: uploadLabel(one, traces) })),
        ]}
        onChange={setSource}
      />
      <NumberField
        label="Tasks"
        value={tasks}
        isWrong={whole === null}
        title="How many tasks are simulated; of a trace the first ones"
        onChange={setTasks}
      />
      <NumberField
        label="Load, tasks per second"
        value={rate}
        isWrong={rate !== "" && amountOf(rate) === null}
        title="Left empty, tasks arrive as the workload says"
        onChange={setRate}
      />
      <NumberField
        label="GPUs of a node"
        value={counts}
        isWrong={gpus === null}
        title="Every type is tried with each of these numbers"
        onChange={setCounts}
      />
      <div className="sm:col-span-2">
        <PickField
          label="Target"
          title="What must hold, or in what a node should be the best for a budget"
          value={metric}
          options={TARGETS}
          onChange={setMetric}
        />
      </div>
      <NumberField
        label={isBest(metric) ? "Dollars an hour" : "Seconds"}
        value={limit}
        isWrong={most === null}
        title={isBest(metric) ? "The most that a node may cost" : "The most that the target allows"}
        onChange={setLimit}
      />
      <button
        type="submit"
        className="press h-8 self-end font-semibold"
        data-on="true"
        disabled={isBusy || problems.length > 0 || known.length === 0}
      >
        {isBusy ? "Searching …" : "Recommend"}
      </button>
      <fieldset className="col-span-full min-w-0">
        <legend className="eyebrow">Types of GPU</legend>
        <div className="mt-1 flex flex-wrap gap-x-4">
          {types.map((one) => (
            <label key={one.name} className="flex min-h-8 cursor-pointer items-center gap-2 text-sm">
              <input
                type="checkbox"
                className="size-4 accent-ml"
                checked={picked.has(one.name)}
                onChange={() => setPicked(toggled(picked, one.name))}
              />
              {one.title}
            </label>
          ))}
        </div>
      </fieldset>
      <Terms
        types={types.filter((one) => picked.has(one.name))}
        prices={prices}
        onPrice={(type, text) => setPrices({ ...prices, [type]: text })}
        cards={cards}
        policies={policies}
        onPolicy={(name) => setChosen(toggled(policies, name))}
      />
      <p role="status" className="col-span-full min-h-4 text-xs text-warn">
        {problems.join(" ")}
      </p>
    </form>
  );
}
