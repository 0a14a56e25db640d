import { describe, expect, it } from "vitest";
import { readHidden, rememberHidden } from "@/features/widgets/layout";
import { arrangementOf, layoutText } from "@/features/widgets/layoutLink";

const DEFAULTS = [
  { i: "race", x: 0, y: 0, w: 8, h: 11, minW: 4, minH: 7 },
  { i: "log", x: 8, y: 0, w: 4, h: 4 },
];

describe("a layout in an address", () => {
  it("comes back as it was sent, with what was hidden", () => {
    const sent = { layout: DEFAULTS, hidden: new Set(["log"]) };
    expect(layoutText(sent)).toBe("race.0.0.8.11");
    const got = arrangementOf(layoutText(sent), DEFAULTS);
    expect(got?.hidden).toEqual(new Set(["log"]));
    expect(got?.layout[0]).toEqual(DEFAULTS[0]);
  });

  it("moves what it names and keeps every widget as large as it must be", () => {
    const got = arrangementOf("log.0.0.12.5_race.0.5.1.1", DEFAULTS);
    expect(got?.hidden.size).toBe(0);
    expect(got?.layout.map(({ i, x, y, w, h }) => [i, x, y, w, h])).toEqual([
      ["race", 0, 5, 4, 7],
      ["log", 0, 0, 12, 5],
    ]);
  });

  it("that names nothing here, or nothing that could be, is no layout", () => {
    for (const text of [null, "", "nobody.0.0.4.4", "race.9.0.8.11", "race.0.0.8", "race.0.0.0.4", "<b>"])
      expect(arrangementOf(text, DEFAULTS)).toBeNull();
  });

  it("keeps what is hidden, but never hides all", () => {
    rememberHidden("race", new Set(["log"]));
    expect(readHidden("race", DEFAULTS)).toEqual(new Set(["log"]));
    rememberHidden("race", new Set(["log", "race"]));
    expect(readHidden("race", DEFAULTS).size).toBe(0);
    localStorage.setItem("hms.hidden.race", "no list");
    expect(readHidden("race", DEFAULTS).size).toBe(0);
  });
});
