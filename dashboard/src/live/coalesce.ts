/** Many events, few renderings: events wait until the next slot and are handed over together. */

export interface Coalescer<T> {
  push: (item: T) => void;
  flush: () => void;
}

/** Hand over at most once in `everyMs`; the first event after a quiet time goes at once. */
export function coalescer<T>(handOver: (items: T[]) => void, everyMs: number): Coalescer<T> {
  let waiting: T[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  let last = Number.NEGATIVE_INFINITY;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0) return;
    const items = waiting;
    waiting = [];
    last = performance.now();
    handOver(items);
  }

  function push(item: T): void {
    waiting.push(item);
    if (timer !== null) return;
    const wait = Math.max(0, last + everyMs - performance.now());
    timer = setTimeout(flush, wait);
  }

  return { push, flush };
}
