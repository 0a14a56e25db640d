import { useState } from "react";
import { start } from "@/client/commands";
import { useGpuTypes, usePresets, useStrategies } from "@/client/queries";
import type { SimulationStatus } from "@/client/types";
import { uploadLabel, useUploads } from "@/client/uploads";
import {
  type Arrivals,
  amountOf,
  forgetNewRun,
  gpusOf,
  MOST_GPUS,
  promiseOf,
  rateOf,
  requestOf,
  seedOf,
} from "@/features/shell/newRun";
import { NumberField, PickField, useTyped } from "@/features/widgets/Fields";
import { Modal } from "@/features/widgets/Modal";
import { StrategyChecks } from "@/features/widgets/StrategyChecks";
import { presetLabel } from "@/lib/presets";
import { useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { FilePick } from "./FilePick";
import { TraceFacts } from "./TraceFacts";

type Level = SimulationStatus["knowledge"];

const LEVELS: readonly { key: Level; label: string; title: string }[] = [
  {
    key: "learned",
    label: "Learned",
    title: "They begin with the formula and learn from what they see finish",
  },
  { key: "exact", label: "Exact", title: "They are told the true durations, without the noise" },
  { key: "nominal", label: "Nominal", title: "They believe the formula, whatever happens" },
];

const shown = (value: number | null | undefined): string =>
  value == null ? "" : String(Number(value.toPrecision(6)));

const ARRIVALS: readonly { key: Arrivals | ""; label: string; title: string }[] = [
  { key: "", label: "As in the file", title: "Tasks arrive when the file says" },
  {
    key: "target_load",
    label: "Load of the GPUs",
    title: "Arrivals are stretched to keep the GPUs busy for this share",
  },
  { key: "arrival_rate", label: "Tasks per second", title: "Arrivals are stretched to this mean rate" },
  { key: "arrival_scale", label: "Times as long", title: "Times between arrivals are multiplied by this" },
];

const UPLOAD = "upload:";
const uploadOf = (key: string): string | null => (key.startsWith(UPLOAD) ? key.slice(UPLOAD.length) : null);

/** Asks what the new run shall be, and begins it. */
export function NewRunDialog() {
  const cards = useStrategies();
  const presets = usePresets();
  const racers = useRacers();
  const uploads = useUploads();
  const types = useGpuTypes();
  const status = useLive((s) => s.update?.status);
  const raced = status?.workload.trace?.upload;
  const now = raced === undefined ? (status?.workload.preset ?? "") : `${UPLOAD}${raced}`;
  // Until something is picked, those of the present race are: the list may come later than the dialog.
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
  const [source, setSource] = useState<string | null>(null);
  const [by, setBy] = useState<Arrivals | "">("");
  const [amount, setAmount] = useState("0.8");
  const [level, setLevel] = useState<Level | null>(null);
  const [node, setNode] = useState("");
  const chosen = picked ?? new Set(cards.filter((card) => card.in_race).map((card) => card.name));
  const traces = uploads.filter((one) => one.use === "trace");
  const profiles = uploads.filter((one) => one.use === "hardware");
  const trace = traces.find((one) => one.upload_id === uploadOf(source ?? now));
  const seedNow = status?.seed ?? null;
  const seed = useTyped(seedNow === null ? "" : String(seedNow), seedOf);
  const gpus = useTyped(shown(status?.num_gpus || null), gpusOf);
  const usual = presets.find((one) => one.name === source)?.arrival_rate;
  const rate = useTyped(shown(source === null ? status?.workload.arrival_rate : usual), rateOf);
  const promise = useTyped("", promiseOf);
  const stretched = by === "" ? null : amountOf(amount);
  const problems = [
    cards.length > 0 && chosen.size === 0 && "Choose at least one strategy.",
    seed.isWrong && "A seed is a whole number.",
    gpus.isWrong && `A node has 1 to ${MOST_GPUS} GPUs.`,
    promise.isWrong && "A promise is a number of seconds, or 0 for none.",
    trace === undefined && rate.isWrong && "A load is a number of tasks per second above 0.",
    trace !== undefined && by !== "" && stretched === null && "Arrivals are stretched by a number above 0.",
  ].filter((one) => one !== false);
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setPicked(next);
  };
  const begin = (): void => {
    const wish = { cards, chosen, racers, seed: seedNow, wishedSeed: seed.wished };
    // The plan of a new run is the present one's plan, which shifts have not changed: what is shown here is named.
    const named = source ?? (rate.wished === null ? null : now);
    const isTrace = trace !== undefined;
    void start(
      requestOf({
        ...wish,
        gpus: gpus.wished,
        promise: promise.wished,
        preset: isTrace ? null : named || null,
        rate: isTrace ? null : rate.wished,
        upload: isTrace ? trace.upload_id : null,
        arrivals: isTrace && by !== "" && stretched !== null ? { by, value: stretched } : null,
        knowledge: level,
        gpuType: uploadOf(node) === null ? node || null : null,
        hardware: uploadOf(node),
      }),
    );
  };
  return (
    <Modal
      title="Begin a new run?"
      yes="Begin"
      isDisabled={problems.length > 0}
      onClose={forgetNewRun}
      onYes={begin}
    >
      <p className="mt-2 text-sm leading-relaxed text-muted">
        The clock goes back to zero and the learners start afresh. The present run stays in the history.
      </p>
      <StrategyChecks cards={cards} chosen={chosen} onToggle={toggle} />
      <div className="mt-3 grid grid-cols-2 gap-3">
        <PickField
          label="Workload"
          title="What the stream of tasks is made of"
          value={source ?? now}
          options={[
            ...(trace || presets.some((one) => one.name === now)
              ? []
              : [{ key: now, label: presetLabel(now) || "–" }]),
            ...presets.map((one) => ({
              key: one.name,
              label: presetLabel(one.name),
              title: one.description,
            })),
            ...traces.map((one) => ({ key: `${UPLOAD}${one.upload_id}`, label: uploadLabel(one, traces) })),
          ]}
          onChange={setSource}
        />
        {trace === undefined ? (
          <NumberField
            label="Load, tasks per second"
            value={rate.text}
            isWrong={rate.isWrong}
            title="How many tasks arrive in a second of simulated time, on average"
            onChange={rate.set}
          />
        ) : (
          <PickField
            label="Arrivals"
            title="When the tasks of the file arrive"
            value={by}
            options={ARRIVALS}
            onChange={(key) => setBy(key as Arrivals | "")}
          />
        )}
        {trace !== undefined && by !== "" && (
          <NumberField
            label={ARRIVALS.find((one) => one.key === by)?.label ?? ""}
            value={amount}
            isWrong={stretched === null}
            title={ARRIVALS.find((one) => one.key === by)?.title ?? ""}
            onChange={setAmount}
          />
        )}
        <NumberField
          label="GPUs of the node"
          value={gpus.text}
          isWrong={gpus.isWrong}
          title="All GPUs are like the first one of the present node"
          onChange={gpus.set}
        />
        <PickField
          label="Type of the GPUs"
          title="The hardware of the new node; prices are examples"
          value={node}
          options={[
            { key: "", label: "As in the present run" },
            ...types.map((one) => ({
              key: one.name,
              label: one.title,
              title: `${one.tensor_tflops || one.fp32_tflops} TFLOPS, ${one.memory_mb / 1000} GB, $${one.price_usd_h} an hour`,
            })),
            ...profiles.map((one) => ({
              key: `${UPLOAD}${one.upload_id}`,
              label: `Profile ${uploadLabel(one, profiles)}`,
            })),
          ]}
          onChange={setNode}
        />
        <PickField
          label="Strategies know durations"
          title="What strategies are told about how long a task takes"
          value={level ?? status?.knowledge ?? "exact"}
          options={LEVELS}
          onChange={(key) => setLevel(key as Level)}
        />
        <NumberField
          label="Seed"
          value={seed.text}
          isWrong={seed.isWrong}
          title="The same seed draws the same tasks"
          onChange={seed.set}
        />
        <NumberField
          label="Promised latency, seconds"
          value={promise.text}
          isWrong={promise.isWrong}
          title="The table then says which share of the tasks kept it. Empty: as in the present run; 0: nothing is promised. A task with a deadline of its own keeps that."
          onChange={promise.set}
        />
      </div>
      {trace && <TraceFacts card={trace} onRemoved={() => setSource(presets[0]?.name ?? null)} />}
      <details className="mt-3">
        <summary className="cursor-pointer text-sm">Files of your own</summary>
        <FilePick
          label="Upload a trace"
          use="trace"
          title="A CSV, SWF, WfFormat, Gavel, Philly, Azure or openb trace, also packed with gzip"
          onKept={(card) => setSource(`${UPLOAD}${card.upload_id}`)}
        />
        <FilePick
          label="Upload a hardware profile"
          use="hardware"
          title="What hms profile --out has written"
          onKept={(card) => setNode(`${UPLOAD}${card.upload_id}`)}
        />
      </details>
      <p role="status" className="mt-2 min-h-5 text-xs text-warn">
        {problems.join(" ")}
      </p>
    </Modal>
  );
}
