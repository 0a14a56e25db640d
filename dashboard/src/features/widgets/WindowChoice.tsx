import { useView } from "@/lib/url";
import { useWindow, WINDOWS } from "@/lib/window";
import { Choice } from "./Choice";

/** Which tasks count: one choice for every widget that compares. */
export function WindowChoice() {
  const [, change] = useView();
  const { key, hasShift } = useWindow();
  const options = WINDOWS.map((option) =>
    option.key === "shift" && !hasShift ? { ...option, refusal: "The workload has not shifted yet" } : option,
  );
  return (
    <Choice
      label="Tasks that count"
      value={key}
      options={options}
      onChange={(wanted) => change({ window: wanted })}
    />
  );
}
