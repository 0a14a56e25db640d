import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { ScrollRegion } from "@/features/widgets/ScrollRegion";
import { type Scrolled, sidesOf } from "@/lib/useMore";

const box = (changes: Partial<Scrolled>): Scrolled => ({
  scrollLeft: 0,
  scrollTop: 0,
  scrollWidth: 640,
  scrollHeight: 320,
  clientWidth: 640,
  clientHeight: 320,
  ...changes,
});

describe("what lies out of sight is told", () => {
  it("by the sides on which content goes on, and not by what is only rounding", () => {
    expect(sidesOf(box({}))).toEqual([]);
    expect(sidesOf(box({ scrollWidth: 642, scrollHeight: 323 }))).toEqual([]);
    expect(sidesOf(box({ scrollWidth: 700, scrollHeight: 591 }))).toEqual(["right", "bottom"]);
    expect(sidesOf(box({ scrollHeight: 591, scrollTop: 271 }))).toEqual([]);
  });

  it("by a button that scrolls on, until the end is seen", () => {
    render(
      <ScrollRegion label="Reasons" hasButton>
        <p>Much</p>
      </ScrollRegion>,
    );
    expect(screen.queryByRole("button")).toBeNull();
    const region = screen.getByRole("region", { name: "Reasons" });
    Object.defineProperty(region, "scrollHeight", { configurable: true, value: 591 });
    const asked: unknown[] = [];
    region.scrollBy = (wish) => void asked.push(wish);
    fireEvent.scroll(region);
    expect(region.dataset.more).toBe("bottom");
    fireEvent.click(screen.getByRole("button", { name: "More below" }));
    expect(asked).toEqual([{ top: 256 }]);
    region.scrollTop = 271;
    fireEvent.scroll(region);
    expect(screen.queryByRole("button")).toBeNull();
  });
});
