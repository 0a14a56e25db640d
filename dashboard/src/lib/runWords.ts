/** A run in the words of its own machine: a real one has devices with names, and tasks that are counted from its first. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useStoredRun } from "@/client/queries";
import { runQuery } from "@/client/runs";
import type { RunCard } from "@/client/types";
import { deviceLabel } from "@/live/devices";
import { taskNumber } from "./format";
import { type Far, GPUS } from "./lead";

export interface RunWords {
  /** Whether real tasks ran. */
  isMeasured: boolean;
  /** Whether it is a real run that has ended: then nothing waits any more. */
  isOver: boolean;
  device: (device: string) => string;
  /** What a device beside the CPU is called where no single one is meant. */
  far: Far;
  /** A task as a person is told it. */
  task: (id: number | null | undefined) => string;
  /** The task that a person means. */
  idOf: (told: string) => string;
}

export const PLAIN: RunWords = {
  isMeasured: false,
  isOver: false,
  device: deviceLabel,
  far: GPUS,
  task: taskNumber,
  idOf: (told) => told,
};

/** `numba_0` as `numba` where there is one, else `numba 0`; a CUDA device is a GPU. */
function placeLabel(place: string, workers: Readonly<Record<string, number>>): string {
  const [, name = place, number = ""] = /^(.*)_(\d+)$/.exec(place) ?? [];
  if (name === "cuda") return `GPU ${number}`;
  return (workers[name] ?? 1) > 1 ? `${name} ${number}` : name;
}

/** GPUs, or the names of what stands beside the CPU in their place. */
function farOf(workers: Readonly<Record<string, number>>): Far {
  const names = Object.keys(workers).filter((name) => name !== "cpu");
  if (names.length === 0 || names.includes("cuda")) return GPUS;
  return { one: names.join(" or "), all: names.join(", ") };
}

export function wordsOf(card: Pick<RunCard, "measured" | "first_task_id"> | undefined): RunWords {
  const facts = card?.measured;
  if (!facts) return PLAIN;
  const first = card.first_task_id ?? 0;
  const place = (part: string): string => {
    const own = facts.places[Number(/^gpu_(\d+)$/.exec(part)?.[1] ?? -1) + 1];
    return part === "cpu" || own === undefined ? deviceLabel(part) : placeLabel(own, facts.devices);
  };
  return {
    isMeasured: true,
    isOver: !facts.is_running,
    device: (device) => device.split("+").map(place).join(" + "),
    far: farOf(facts.devices),
    task: (id) => taskNumber(id === null || id === undefined ? id : id - first),
    idOf: (told) => (/^\d+$/.test(told) ? String(Number(told) + first) : told),
  };
}

/** The words of one run, the one that is looked at unless another is named; the race itself needs none. */
export function useRunWords(run?: number | null): RunWords {
  const shown = useStoredRun();
  const wanted = run === undefined ? shown : run;
  const card = useQuery({ ...runQuery(wanted ?? 0), enabled: wanted !== null, staleTime: 5000 }).data;
  return useMemo(() => (wanted === null ? PLAIN : wordsOf(card)), [wanted, card]);
}
