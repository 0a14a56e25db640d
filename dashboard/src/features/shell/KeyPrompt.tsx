import { KeyRound } from "lucide-react";
import { useEffect, useRef } from "react";
import { forgetProblem, useCommands } from "@/client/commands";
import { KeyField } from "./KeyField";

/** Asks for the API key when the service refused a command for want of one. */
export function KeyPrompt() {
  const { problem, needsKey } = useCommands();
  const box = useRef<HTMLDivElement>(null);
  // It stands below the controls, in nobody's way; a person who is further down must see it all the same.
  useEffect(() => {
    if (problem) box.current?.scrollIntoView({ block: "nearest" });
  }, [problem]);
  if (!problem) return null;
  return (
    <div
      ref={box}
      role="alert"
      className="mt-3 rounded-xl border border-warn/45 bg-warn/10 px-4 py-2.5 text-sm"
    >
      <div className="flex items-center gap-3">
        <KeyRound size={17} className="shrink-0 text-warn" aria-hidden="true" />
        <p className="flex-1">{problem}</p>
        <button type="button" className="press" onClick={forgetProblem}>
          Close
        </button>
      </div>
      {needsKey && <KeyField onKnown={forgetProblem} />}
    </div>
  );
}
