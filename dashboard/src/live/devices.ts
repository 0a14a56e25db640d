/** The devices of a cluster in their natural order: the CPU, then the GPUs by number. */
import type { ClusterLoad, DeviceLoad } from "@/client/types";

const GPU = /^gpu_(\d+)$/;

function rank(name: string): number {
  const found = GPU.exec(name);
  return found ? Number(found[1]) + 1 : 0;
}

export function devicesOf(cluster: ClusterLoad | undefined): [string, DeviceLoad][] {
  if (!cluster) return [];
  return Object.entries(cluster)
    .filter((entry): entry is [string, DeviceLoad] => typeof entry[1] === "object")
    .sort(([a], [b]) => rank(a) - rank(b));
}

/** `gpu_2` as a person says it; `cpu+gpu_2` likewise. */
export function deviceLabel(device: string): string {
  return device
    .split("+")
    .map((part) => (part === "cpu" ? "CPU" : part.replace(/^gpu_?/, "GPU ").trim()))
    .join(" + ");
}
