import "@testing-library/jest-dom/vitest";
import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// jsdom has no layout: every box that is measured gets a plain size, so that charts draw.
class FixedObserver implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver = FixedObserver;
Object.defineProperty(HTMLElement.prototype, "clientWidth", { configurable: true, get: () => 640 });
Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => 320 });
