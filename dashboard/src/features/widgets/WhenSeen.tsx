import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Loading } from "./States";

/** What lies below the first screen is loaded when it comes into sight, and stays. */
export function WhenSeen({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!place.current || isSeen) return;
    const watch = new IntersectionObserver((found) => setSeen(found.some((one) => one.isIntersecting)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, [isSeen]);
  return isSeen ? (
    <Suspense fallback={<Loading />}>{children}</Suspense>
  ) : (
    <div ref={place} className="h-full" />
  );
}
