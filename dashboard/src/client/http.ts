/** One way to ask the service: JSON or a file in, JSON out, problems as sentences. */
import type { Problem } from "./types";

/** An answer that is not a success; its message is the service's own sentence. */
export class ServiceProblem extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.name = "ServiceProblem";
    this.status = status;
  }
}

const KEY = "hms.api-key";

/** The key a person typed in for this tab, if any; it is never written to disk. */
export function apiKey(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Remember the key until the tab is closed. */
export function rememberApiKey(key: string): void {
  sessionStorage.setItem(KEY, key);
}

async function problemOf(response: Response): Promise<ServiceProblem> {
  const fallback = `The service answered with status ${response.status}.`;
  try {
    const problem = (await response.json()) as Partial<Problem>;
    return new ServiceProblem(response.status, problem.detail ?? fallback);
  } catch {
    return new ServiceProblem(response.status, fallback);
  }
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Ask and return the answer; a refused request throws a `ServiceProblem`. */
export async function ask<T>(path: string, method: Method = "GET", body?: unknown): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  const key = apiKey();
  if (method !== "GET" && key) headers["X-API-Key"] = key;
  const request: RequestInit = { method, headers };
  if (body !== undefined) request.body = isFile ? body : JSON.stringify(body);
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new ServiceProblem(0, "The service cannot be reached.");
  }
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}
