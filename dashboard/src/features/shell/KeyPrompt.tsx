import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { forgetProblem, useCommands } from "@/client/commands";
import { rememberApiKey } from "@/client/http";

/** Asks for the API key when the service refused a command for want of one. */
export function KeyPrompt() {
  const { problem, needsKey } = useCommands();
  const [key, setKey] = useState("");
  if (!problem) return null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rememberApiKey(key);
    setKey("");
    forgetProblem();
  };
  return (
    <div
      role="alert"
      className="glass fixed inset-x-4 bottom-4 z-40 mx-auto max-w-lg px-4 py-3 text-sm"
      style={{ background: "var(--panel-solid)" }}
    >
      <div className="flex items-start gap-3">
        <KeyRound size={17} className="mt-0.5 text-warn" aria-hidden="true" />
        <p className="flex-1">{problem}</p>
        <button type="button" className="press" onClick={forgetProblem}>
          Close
        </button>
      </div>
      {needsKey && (
        <form className="mt-3 flex gap-2" onSubmit={submit}>
          <input
            className="field flex-1"
            type="password"
            autoComplete="off"
            aria-label="API key"
            placeholder="API key"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
          <button type="submit" className="press" disabled={key === ""}>
            Use for this tab
          </button>
        </form>
      )}
    </div>
  );
}
