/** Who leads and why, in words made from the numbers of one window and nothing else. */
import type { Comparison } from "@/client/types";
import { count, digits, percent, seconds } from "./format";
import type { MetricCard } from "./metrics";
import { hasPlace } from "./places";

export interface Lead {
  /** Who leads, and by how much. */
  who: string;
  /** What the numbers say about the reason; empty where they say nothing. */
  why: string;
}

type LabelOf = (name: string) => string;

/** What stands beside the CPU: one of it, and all. */
export interface Far {
  one: string;
  all: string;
}

export const GPUS: Far = { one: "a GPU", all: "GPUs" };

interface Ranked {
  row: Comparison;
  value: number;
}

/** A handful of tasks says nothing about reasons. */
const ENOUGH = 10;
/** Closer than this is called level. */
const LEVEL = 0.005;
/** A part that makes up this much of a difference is its reason. */
const MOST = 0.7;
/** A device with this much work for every second is where tasks queue. */
const BUSY = 0.85;

function ranked(rows: readonly Comparison[], metric: MetricCard): Ranked[] {
  return rows
    .map((row) => ({ row, value: row.tasks > 0 && !row.is_behind ? metric.of(row) : null }))
    .filter((one): one is Ranked => one.value !== null)
    .sort((a, b) => a.value - b.value || (a.row.name < b.row.name ? -1 : 1));
}

/** How much more than the leader: `+31 %`, or a multiple where per cents would be unreadable. */
function more(lead: number, other: number): string {
  if (lead > 0 && other / lead >= 3) return `${digits(other / lead, 2)} times as much`;
  return `+${percent(other / lead - 1, other / lead < 1.1 ? 1 : 0)}`;
}

/** Those that nobody could call worse than the first. */
const levelOf = (order: readonly Ranked[]): readonly Ranked[] =>
  order.filter(({ value }) => value <= (order[0]?.value ?? 0) * (1 + LEVEL));

function whoLeads(order: readonly Ranked[], metric: MetricCard, words: string, label: LabelOf): string {
  const [first, second] = order as [Ranked, Ranked | undefined];
  const name = label(first.row.name);
  const text = metric.format(first.value);
  if (!second) return `${name} races alone ${words}: ${metric.short.toLowerCase()} ${text}.`;
  const level = levelOf(order);
  if (level.length === order.length)
    return `${order.length === 2 ? "Both" : `All ${order.length}`} strategies are level in ${metric.short.toLowerCase()} ${words}: ${text}.`;
  if (level.length > 1) {
    const names = level.map(({ row }) => label(row.name));
    // Where the figures beside the bars differ, how little they do is said.
    const apart = level.some(({ value }) => metric.format(value) !== text)
      ? `, within ${percent(LEVEL, 1)}`
      : "";
    return `${names.slice(0, -1).join(", ")} and ${names.at(-1)} are level at the head ${words}: ${metric.short.toLowerCase()} ${text}${apart}.`;
  }
  const next = hasPlace(second.row, metric.wire)
    ? "next is"
    : "next of those that finished the same tasks is";
  return `${name} leads ${words}: ${metric.short.toLowerCase()} ${text}; ${next} ${label(second.row.name)} with ${metric.format(second.value)} (${more(first.value, second.value)}).`;
}

/** `tasks wait with rl hold (1,982) and sjf (17)`. */
function behindWords(behind: readonly Comparison[], label: LabelOf): string {
  const named = behind.map((row) => `${label(row.name)} (${count(row.waiting)})`);
  return `tasks wait with ${named.slice(0, -1).join(", ")}${named.length > 1 ? " and " : ""}${named.at(-1)}`;
}

/** What is said instead of a leader while waiting tasks could undo it. */
function whoIsOpen(
  order: readonly Ranked[],
  behind: readonly Comparison[],
  metric: MetricCard,
  words: string,
  label: LabelOf,
): string {
  const quantity = metric.short.toLowerCase();
  if (behind.length === 0)
    return `Nobody leads in ${quantity} ${words}: too many tasks are not finished by every strategy yet.`;
  const [first, second] = order;
  const why = `Nobody leads in ${quantity} ${words}: ${behindWords(behind, label)}, which may come to less.`;
  if (!first) return why;
  const rest = second ? `; next is ${label(second.row.name)} with ${metric.format(second.value)}` : "";
  return `${why} Of those that finished the same tasks, ${label(first.row.name)} has the least: ${metric.format(first.value)}${rest}.`;
}

/** Where most tasks of a strategy go. */
function placement(row: Comparison, far: Far): string {
  const { cpu = 0, gpu = 0, split = 0 } = row.decisions as Record<string, number | undefined>;
  const all = cpu + gpu + split;
  const most = Math.max(cpu, gpu, split);
  if (all === 0) return "";
  const amount = most === all ? "every task" : `${percent(most / all)} of its tasks`;
  const verb = most === all ? "is" : "are";
  if (most === split) return `${amount} ${verb} split`;
  if (most === cpu) return `${amount} ${most === all ? "stays" : "stay"} on the CPU`;
  return `${amount} ${most === all ? "goes" : "go"} to ${far.one} alone`;
}

/** The device that a strategy's tasks queue at, if one has more work than it can well do. */
function queue(row: Comparison, far: Far): string {
  const [cpu, gpu] = [row.cpu_load ?? 0, row.gpu_load ?? 0];
  if (Math.max(cpu, gpu) < BUSY) return "";
  const work = `${digits(Math.max(cpu, gpu))} s of work for every second`;
  return cpu >= gpu
    ? `its CPU is the queue (${work})`
    : far === GPUS
      ? `its GPUs are the queue (${work} each)`
      : `${far.all} is the queue (${work})`;
}

/** Why tasks of the last one take long; its name says whose device is meant. */
function cause(row: Comparison, label: LabelOf, far: Far): string {
  const parts = [placement(row, far), queue(row, far)].filter((part) => part !== "");
  return parts.length === 0 ? "" : `: with ${label(row.name)} ${parts.join(" and ")}`;
}

const waitOf = (row: Comparison): number => (row.avg_latency ?? 0) - (row.avg_time ?? 0);
const runOf = (row: Comparison): number => row.avg_time ?? 0;

/** A figure of all at the head: one where theirs read alike, else from the least to the most. */
function amongst(
  head: readonly Comparison[],
  of: (row: Comparison) => number,
  format: (value: number) => string,
): string {
  const values = head.map(of);
  const [least, most] = [format(Math.min(...values)), format(Math.max(...values))];
  return least === most ? least : `${least} to ${most}`;
}

function whyLatency(head: readonly Comparison[], last: Comparison, label: LabelOf, far: Far): string {
  const first = head[0] as Comparison;
  const total = (last.avg_latency ?? 0) - (first.avg_latency ?? 0);
  const theirs = head.length > 1 ? "Their" : "Its";
  const [name, why] = [label(last.name), cause(last, label, far)];
  const [waits, runs] = [amongst(head, waitOf, seconds), amongst(head, runOf, seconds)];
  if (waitOf(last) - waitOf(first) >= MOST * total)
    return `${theirs} tasks wait ${waits} where those of ${name} wait ${seconds(waitOf(last))}${why}.`;
  if (runOf(last) - runOf(first) >= MOST * total)
    return `${theirs} tasks run ${runs} where those of ${name} run ${seconds(runOf(last))}: there ${placement(last, far)}.`;
  return `${theirs} tasks wait ${waits} and run ${runs}; those of ${name} wait ${seconds(waitOf(last))} and run ${seconds(runOf(last))}${why}.`;
}

function whyTime(head: readonly Comparison[], order: readonly Comparison[], label: LabelOf): string {
  const first = head[0] as Comparison;
  const soonest = [...order]
    .filter((row) => row.avg_latency !== null)
    .sort((a, b) => (a.avg_latency ?? 0) - (b.avg_latency ?? 0))[0];
  if (!soonest || head.includes(soonest)) return "";
  return `Queues do not count here: with them, ${label(soonest.name)} is ahead (${seconds(soonest.avg_latency)} from arrival to finish, ${label(first.name)} ${seconds(first.avg_latency)}).`;
}

function whyPrice(head: readonly Comparison[], last: Comparison, label: LabelOf): string {
  const share = amongst(head, (row) => row.avg_gpu_fraction ?? 0, percent);
  return `${head.length > 1 ? "They give" : "It gives"} ${share} of the work to GPUs, ${label(last.name)} ${percent(last.avg_gpu_fraction)}.`;
}

function whyMakespan(last: Comparison, label: LabelOf, far: Far): string {
  const jam = queue(last, far);
  return jam === "" ? "" : `${label(last.name)} falls behind: ${placement(last, far)} and ${jam}.`;
}

/** That even the best cannot keep up; nothing else matters as much. */
function overload(head: readonly Comparison[], label: LabelOf): string {
  const row = head[0] as Comparison;
  const most = Math.max(row.cpu_load ?? 0, row.gpu_load ?? 0);
  if (most <= 1) return "";
  const where = (row.cpu_load ?? 0) >= (row.gpu_load ?? 0) ? "CPU gets" : "GPUs each get";
  const whose = head.length > 1 ? `with ${label(row.name)} the` : "its";
  return ` Even so ${whose} ${where} ${digits(most)} s of work for every second, so ${head.length > 1 ? "the" : "its"} queue grows.`;
}

function whyOf(order: readonly Ranked[], metric: MetricCard, label: LabelOf, far: Far): string {
  const head = levelOf(order).map(({ row }) => row);
  const last = order.at(-1)?.row as Comparison;
  const all = order.map(({ row }) => row);
  switch (metric.key) {
    case "latency":
      return whyLatency(head, last, label, far) + overload(head, label);
    case "time":
      return whyTime(head, all, label);
    case "makespan":
      return whyMakespan(last, label, far);
    default:
      return whyPrice(head, last, label);
  }
}

/** Who leads by a metric and why; `words` names the window. */
export function leadOf(
  rows: readonly Comparison[],
  metric: MetricCard,
  words: string,
  label: LabelOf,
  far: Far = GPUS,
): Lead {
  const order = ranked(rows, metric);
  const [best, worst] = [order[0], order.at(-1)];
  if (!best || !worst) {
    const late = rows.filter((row) => row.is_behind);
    if (late.length > 0) return { who: whoIsOpen([], late, metric, words, label), why: "" };
    return { who: `No task has finished ${words}.`, why: "" };
  }
  const differ = order.length > 1 && worst.value > best.value * (1 + LEVEL);
  const behind = rows.filter((row) => row.is_behind);
  const isOpen = !hasPlace(best.row, metric.wire);
  const few = best.row.tasks < ENOUGH ? "These are too few tasks to say why." : "";
  const why = differ ? few || whyOf(order, metric, label, far) : "";
  if (isOpen) return { who: whoIsOpen(order, behind, metric, words, label), why };
  const also =
    behind.length === 0 ? "" : ` Besides, ${behindWords(behind, label)}, which cannot come to less.`;
  return { who: `${whoLeads(order, metric, words, label)}${also}`, why };
}
