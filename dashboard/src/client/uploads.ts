/** Files that a person sends: traces to race, and hardware profiles. */
import { useQuery } from "@tanstack/react-query";
import { tasksText, wallDay, wallTime } from "@/lib/format";
import { ask } from "./http";
import { queryClient } from "./queries";
import type { UploadCard, UploadList } from "./types";

const KEY = ["uploads"];

export function useUploads(): readonly UploadCard[] {
  return (
    useQuery({ queryKey: KEY, queryFn: () => ask<UploadList>("/api/uploads"), staleTime: 5000 }).data
      ?.uploads ?? []
  );
}

/** The name of a file as the service takes it: not hidden, no path. */
export const plainName = (name: string): string =>
  name
    .replace(/^.*[/\\]/, "")
    .replace(/^\.+/, "")
    .slice(-120) || "file";

/** What an upload is called among others: its name, and where another has the same, what it holds and when it came. */
export function uploadLabel(card: UploadCard, all: readonly UploadCard[]): string {
  if (all.filter((one) => one.name === card.name).length < 2) return card.name;
  const holds = card.trace === null ? "" : `${tasksText(card.trace.tasks)}, `;
  return `${card.name} (${holds}${wallDay(card.at)}:${wallTime(card.at).slice(-2)})`;
}

/** Send a file; what is wrong with it is thrown as the service's sentence. */
export async function sendUpload(
  file: File,
  use: UploadCard["use"],
  columns: Readonly<Record<string, string>> = {},
  table?: string,
): Promise<UploadCard> {
  const query = new URLSearchParams({ name: plainName(file.name), use, ...(table ? { table } : {}) });
  for (const [ours, theirs] of Object.entries(columns)) query.append("column", `${ours}=${theirs}`);
  const card = await ask<UploadCard>(`/api/uploads?${query}`, "POST", file);
  await queryClient.invalidateQueries({ queryKey: KEY });
  return card;
}

/** A Gavel stream comes in two files; the service keeps both as one, so the table alone is not needed afterwards. */
export async function sendWithTable(stream: File, table: File): Promise<UploadCard> {
  const sent = await sendUpload(table, "throughputs");
  try {
    return await sendUpload(stream, "trace", {}, sent.upload_id);
  } finally {
    await removeUpload(sent.upload_id);
  }
}

export async function removeUpload(id: string): Promise<void> {
  await ask<unknown>(`/api/uploads/${id}`, "DELETE");
  await queryClient.invalidateQueries({ queryKey: KEY });
}
