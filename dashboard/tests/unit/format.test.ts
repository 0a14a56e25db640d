import { describe, expect, it } from "vitest";
import { csv } from "@/lib/csv";
import { clock, count, digits, dollars, gap, joules, NOTHING, percent, seconds } from "@/lib/format";

describe("numbers as people read them", () => {
  it("never turns the unknown into zero", () => {
    for (const format of [count, seconds, joules, dollars, percent, gap, clock]) {
      expect(format(null)).toBe(NOTHING);
      expect(format(undefined)).toBe(NOTHING);
      expect(format(Number.NaN)).toBe(NOTHING);
    }
  });

  it("chooses a unit that keeps three digits in sight", () => {
    expect(seconds(0.4321)).toBe("432 ms");
    expect(seconds(4.321)).toBe("4.32 s");
    expect(seconds(0.000_012_3)).toBe("12.3 µs");
    expect(seconds(12_345)).toBe("12,345 s");
    expect(seconds(19_405_120)).toBe("225 d");
    expect(seconds(1e14)).toBe("1.16·10⁹ d");
    expect(seconds(-2.6e-9)).toBe("0 s");
    expect(digits(-123_456_789)).toBe("−1.23·10⁸");
    expect(joules(25_000)).toBe("25.0 kJ");
    expect(dollars(0.000_043_2)).toBe("43.2 µ$");
    expect(dollars(1.5)).toBe("$1.50");
  });

  it("writes gaps with their sign and clocks with hours", () => {
    expect(gap(0.1234)).toBe("+12.3 %");
    expect(gap(-0.01)).toBe("−1.0 %");
    expect(gap(0.000_42)).toBe("+0.04 %");
    expect(gap(25)).toBe("+2,500 %");
    expect(clock(3725.9)).toBe("1:02:05");
    expect(clock(37_220_428)).toBe("430 d 19:00:28");
    expect(digits(0)).toBe("0");
  });
});

describe("CSV", () => {
  it("quotes what must be quoted and leaves the unknown empty", () => {
    const text = csv({
      columns: ["a", "b,c"],
      rows: [
        ['say "hi"', null],
        ["x\ny", 1.5],
      ],
    });
    expect(text).toBe('a,"b,c"\r\n"say ""hi""",\r\n"x\ny",1.5\r\n');
  });
});
