import { describe, expect, it } from "vitest";
import type { ModelVersion } from "@/client/types";
import { errorWords } from "@/features/race/formError";

const model = (task_id: number, held_out_error: number | null, present_error: number | null): ModelVersion =>
  ({ scheduler: "hybrid_ml", task_id, held_out_error, present_error }) as ModelVersion;
const label = (name: string): string => name.replaceAll("_", " ");

describe("the error in the recent form", () => {
  it("is that of the latest judged retraining, before and after it", () => {
    expect(errorWords([model(1200, 0.05, 0.4), model(600, 0.3, 0.9), model(1300, null, null)], label)).toBe(
      "Error on new tasks: hybrid ml 0.400 before its retraining at task 1,200, 0.0500 after.",
    );
  });

  it("names only the new model where there was none before, and nothing where none was judged", () => {
    expect(errorWords([model(600, 0.3, null)], label)).toBe(
      "Error on new tasks: hybrid ml 0.300 after its retraining at task 600.",
    );
    expect(errorWords([model(600, null, null)], label)).toBe("");
  });
});
