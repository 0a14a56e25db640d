import { Pick } from "@/features/widgets/Choice";
import { count } from "@/lib/format";
import { useView } from "@/lib/url";
import { useStatsScope, WINDOWS } from "./scope";

/** How many of the latest tasks the statistics cover; one choice for all of them. */
export function WindowPick() {
  const [, change] = useView();
  const { window } = useStatsScope();
  const sizes: number[] = [...new Set<number>([...WINDOWS, window])].sort((a, b) => a - b);
  const options = sizes.map((size) => ({ key: String(size), label: `Latest ${count(size)}` }));
  return (
    <Pick
      label="How many tasks"
      value={String(window)}
      options={options}
      onChange={(key) => change({ window: key === "1000" ? null : key })}
    />
  );
}
