import { useState } from "react";
import { rememberApiKey } from "@/client/http";

/** The API key, typed in once for this tab. It may stand within another form. */
export function KeyField({ onKnown }: { onKnown: () => void }) {
  const [key, setKey] = useState("");
  const use = (): void => {
    rememberApiKey(key);
    setKey("");
    onKnown();
  };
  return (
    <div className="mt-3 flex gap-2">
      <input
        className="field min-w-0 flex-1"
        type="password"
        autoComplete="off"
        aria-label="API key"
        placeholder="API key"
        value={key}
        onChange={(event) => setKey(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || key === "") return;
          event.preventDefault();
          use();
        }}
      />
      <button type="button" className="press" disabled={key === ""} onClick={use}>
        Use for this tab
      </button>
    </div>
  );
}
