import { useRouteError } from "react-router";

/** Something in the dashboard broke; say what, and offer the way back. */
export function Crash() {
  const error = useRouteError();
  const message = error instanceof Error ? error.message : "Unknown error";
  return (
    <main className="glass mx-auto mt-24 max-w-lg p-8">
      <h1 className="text-lg font-semibold">The dashboard stumbled</h1>
      <p className="mt-2 text-sm text-muted">The race itself is not affected; it runs in the service.</p>
      <pre className="mt-4 overflow-auto rounded-lg bg-raised p-3 text-xs">{message}</pre>
      <a className="press mt-4" href={window.location.pathname}>
        Load again
      </a>
    </main>
  );
}
