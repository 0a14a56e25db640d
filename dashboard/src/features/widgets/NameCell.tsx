import type { ReactNode } from "react";

/** A strategy's colour and name at the head of a row: a long name takes a second line, so that figures keep their room. */
export function NameCell({ colour, children }: { colour: string; children: ReactNode }) {
  return (
    <span className="flex w-max max-w-36 items-center gap-2 sm:max-w-56">
      <span aria-hidden="true" className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
      <span className="line-clamp-2 min-w-0 leading-tight [overflow-wrap:anywhere] whitespace-normal">
        {children}
      </span>
    </span>
  );
}
