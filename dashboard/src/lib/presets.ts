/** A workload as people read it, one way in all views: `cpu_friendly` as `CPU-friendly`; the name of a file stays. */
export function presetLabel(name: string): string {
  if (!/^[a-z]+(_[a-z]+)*$/.test(name)) return name;
  const words = name
    .replace(/^([cg])pu_/, (start) => `${start.slice(0, 3).toUpperCase()}-`)
    .replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
