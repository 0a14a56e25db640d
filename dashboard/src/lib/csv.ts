/** Tables as CSV (RFC 4180), and files into a person's hands. */

export type Cell = string | number | boolean | null | undefined;
export type Table = { columns: readonly string[]; rows: readonly (readonly Cell[])[] };

function quoted(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(table: Table): string {
  return [table.columns, ...table.rows]
    .map((row) => row.map(quoted).join(","))
    .join("\r\n")
    .concat("\r\n");
}

/** Offer a file for download. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveCsv(name: string, table: Table): void {
  saveFile(`${name}.csv`, new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
}
