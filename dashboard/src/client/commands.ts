/** What a person can change in the race. */
import { create } from "zustand";
import { ask, ServiceProblem } from "./http";
import { queryClient } from "./queries";
import type { NewTask, SimulationPatch, SimulationStatus, StartRequest, TaskAdvice } from "./types";

interface CommandState {
  busy: boolean;
  problem: string | null;
  needsKey: boolean;
}

/** The last command's fate: shown beside the controls. */
export const useCommands = create<CommandState>(() => ({ busy: false, problem: null, needsKey: false }));

export const forgetProblem = (): void => useCommands.setState({ problem: null, needsKey: false });

export async function obeyed<T>(call: () => Promise<T>): Promise<T | null> {
  useCommands.setState({ busy: true, problem: null });
  try {
    const answer = await call();
    useCommands.setState({ busy: false, needsKey: false });
    return answer;
  } catch (error) {
    const problem = error instanceof Error ? error.message : "The command failed.";
    const needsKey = error instanceof ServiceProblem && error.status === 401;
    useCommands.setState({ busy: false, problem, needsKey });
    return null;
  }
}

type Word = "pause" | "resume" | "stop";

export function steer(word: Word): Promise<SimulationStatus | null> {
  return obeyed(() => ask<SimulationStatus>(`/api/simulation/${word}`, "POST"));
}

export function start(request: Partial<StartRequest> = {}): Promise<SimulationStatus | null> {
  return obeyed(() => ask<SimulationStatus>("/api/simulation/start", "POST", request));
}

export function change(patch: SimulationPatch): Promise<SimulationStatus | null> {
  return obeyed(() => ask<SimulationStatus>("/api/simulation", "PATCH", patch));
}

/** Ask every strategy about a task; with `run` it becomes the next one of the race. */
export function askAbout(task: NewTask, run: boolean): Promise<TaskAdvice | null> {
  return obeyed(() => ask<TaskAdvice>(`/api/tasks${run ? "?run=true" : ""}`, "POST", task));
}

/** Remove every stored row; the caller has asked the person before. */
export async function clearHistory(): Promise<boolean> {
  const answer = await obeyed(() => ask<unknown>("/api/history", "DELETE"));
  await queryClient.invalidateQueries();
  return answer !== null;
}
