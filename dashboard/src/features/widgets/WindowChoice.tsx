import { useView } from "@/lib/url";
import { useWindow, WINDOWS } from "@/lib/window";
import { Choice, Pick } from "./Choice";

/** Which tasks count: one choice for every widget that compares; `brief` where there is little room for it. */
export function WindowChoice({ brief = false }: { brief?: boolean }) {
  const [, change] = useView();
  const { key, hasShift } = useWindow();
  const options = WINDOWS.map((option) =>
    option.key === "shift" && !hasShift ? { ...option, refusal: "The workload has not shifted yet" } : option,
  );
  const Kind = brief ? Pick : Choice;
  return (
    <Kind
      label="Tasks that count"
      value={key}
      options={options}
      onChange={(wanted) => change({ window: wanted })}
    />
  );
}
