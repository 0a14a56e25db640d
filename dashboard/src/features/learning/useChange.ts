/** Which change of the run is looked at: the last one, unless the address names another. */
import { useAdaptation } from "@/client/queries";
import { useView } from "@/lib/url";

export function useChange() {
  const [params, change] = useView();
  const text = params.get("change");
  const wanted = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  const answer = useAdaptation(wanted);
  return {
    answer,
    wanted,
    choose: (task: number | null) => change({ change: task === null ? null : String(task) }),
  };
}
