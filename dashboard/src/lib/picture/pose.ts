/** A widget made ready for paper: everything read, every row in sight, no wider than its type can be read at. */

/** A wider picture is put into a page at a scale that makes its words too small to read. */
const WIDEST = 760;
/** A table may be wider, for its columns are not cut. */
const WIDEST_TABLE = 1400;
/** A list of hundreds of lines is cut here; its CSV has them all. */
const TALLEST = 2400;
const PASSES = 3;
const PATIENCE_MS = 15_000;
const LOADING = ".skeleton, [aria-busy='true']";

const nextFrame = (): Promise<void> => new Promise((go) => requestAnimationFrame(() => go()));

const STILL_FRAMES = 4;
const MOST_FRAMES = 90;
const DRAWN = ".uplot, canvas, svg";

const sizesOf = (element: Element): string =>
  [...element.querySelectorAll(DRAWN)].map((one) => `${one.clientWidth}x${one.clientHeight}`).join();

/** Whether every chart is as wide as its room: one that has not been drawn anew yet is not. */
const fits = (element: Element): boolean =>
  [...element.querySelectorAll(".uplot, canvas[role='img']")].every(
    (one) => Math.abs(one.clientWidth - (one.parentElement?.clientWidth ?? one.clientWidth)) <= 2,
  );

/** Sizes are noticed, then drawn, then painted, each when there is time: wait until all charts fit and stand still. */
async function redrawn(element: Element): Promise<void> {
  let [seen, still] = ["", 0];
  for (let frame = 0; frame < MOST_FRAMES && still < STILL_FRAMES; frame += 1) {
    await nextFrame();
    const now = sizesOf(element);
    still = now === seen && fits(element) ? still + 1 : 0;
    seen = now;
  }
}

/** Wait until nothing of it is on its way any more; say so where that takes too long. */
export async function arrived(element: Element): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (element.querySelector(LOADING)) {
    if (performance.now() > deadline)
      throw new Error("Its figures have not come yet: export it when they are here.");
    await nextFrame();
  }
}

const scrolls = (element: Element): boolean => {
  const { overflowX, overflowY } = getComputedStyle(element);
  return [overflowX, overflowY].some((one) => one === "auto" || one === "scroll");
};

/** How much more room the widget, its parts and the regions that scroll would need to show all they hold. */
function missing(element: HTMLElement, regions: readonly Element[]): { width: number; height: number } {
  const whole = [element, ...regions];
  return {
    width: Math.max(...whole.map((one) => one.scrollWidth - one.clientWidth)),
    height: Math.max(...[...whole, ...element.children].map((one) => one.scrollHeight - one.clientHeight)),
  };
}

/** A region with a height of its own cannot grow with its widget: for the picture it has none. */
function unbound(element: HTMLElement): () => void {
  const bounded = [...element.querySelectorAll<HTMLElement>("*")].filter(
    (one) => scrolls(one) && getComputedStyle(one).maxHeight !== "none",
  );
  const before = bounded.map((one) => one.style.maxHeight);
  for (const one of bounded) one.style.maxHeight = "none";
  return () => {
    for (const [i, one] of bounded.entries()) one.style.maxHeight = before[i] ?? "";
  };
}

async function spread(element: HTMLElement, width: number, height: number): Promise<void> {
  let [w, h] = [Math.min(width, WIDEST), height];
  Object.assign(element.style, { position: "fixed", inset: "auto", left: "-30000px", top: "0" });
  for (let pass = 0; pass < PASSES; pass += 1) {
    Object.assign(element.style, { width: `${w}px`, height: `${h}px` });
    await redrawn(element);
    const regions = [...element.querySelectorAll("*")].filter(scrolls);
    const lack = missing(element, regions);
    const wider = Math.min(Math.max(width, WIDEST_TABLE), w + lack.width);
    const taller = Math.min(Math.max(height, TALLEST), h + lack.height);
    if (wider === w && taller === h) return;
    [w, h] = [wider, taller];
  }
}

/** Lay the element out for paper, draw it, and put everything back as a person left it. */
export async function posed<T>(element: HTMLElement, draw: () => Promise<T>): Promise<T> {
  await arrived(element);
  const { width, height } = element.getBoundingClientRect();
  const scrolled = [...element.querySelectorAll("*")].filter(
    (one) => one.scrollTop > 0 || one.scrollLeft > 0,
  );
  const places = scrolled.map((one) => [one, one.scrollTop, one.scrollLeft] as const);
  const own = element.getAttribute("style");
  const around = element.parentElement;
  const room = around?.style.minHeight ?? "";
  if (around) around.style.minHeight = `${around.getBoundingClientRect().height}px`;
  const rebind = unbound(element);
  try {
    await spread(element, width, height);
    return await draw();
  } finally {
    rebind();
    if (own === null) element.removeAttribute("style");
    else element.setAttribute("style", own);
    if (around) around.style.minHeight = room;
    for (const [one, top, left] of places) one.scrollTo(left, top);
  }
}
