import { Link } from "react-router";

/** An address that leads nowhere. */
export function Lost() {
  return (
    <div className="glass mx-auto mt-16 max-w-md p-8 text-center">
      <p className="text-lg font-semibold">There is no such view</p>
      <p className="mt-2 text-sm text-muted">The address may be from an older version of the dashboard.</p>
      <Link className="press mt-4" to="/">
        Back to the race
      </Link>
    </div>
  );
}
