import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { queryClient } from "@/client/queries";
import { ControlBar } from "@/features/shell/ControlBar";
import { Situation } from "@/features/shell/Situation";
import { START } from "@/live/state";
import { useLive } from "@/live/store";
import { last } from "../fixtures";

afterEach(() => {
  cleanup();
  queryClient.clear();
  useLive.setState(START, true);
});

describe("what a person must know before reading any number", () => {
  it("why the race cannot go on, with a new run as the way out", () => {
    const status = {
      ...last.status,
      state: "stopped" as const,
      problem: "Run 1 cannot be continued: no file.",
    };
    useLive.setState({ update: { ...last, status } });
    queryClient.setQueryData(["settings"], { follows: false });
    const asked: unknown[] = [];
    const before = globalThis.fetch;
    globalThis.fetch = (place, init) => {
      asked.push([place, init?.body]);
      return Promise.resolve(new Response(JSON.stringify(status)));
    };
    render(<Situation />);
    expect(screen.getByRole("status").textContent).toContain("Run 1 cannot be continued: no file.");
    expect(screen.queryByText("Continue")).toBeNull();
    fireEvent.click(screen.getByText("Begin a new run"));
    globalThis.fetch = before;
    expect(asked).toEqual([["/api/simulation/start", JSON.stringify({ new_run: true })]]);
  });

  it.each(["refused", "down"] as const)(
    "why the race cannot go on, also while the store is %s",
    (storage) => {
      const problem = "SQLite history.db refused: no such table.";
      const status = { ...last.status, state: "stopped" as const, storage, problem, backlog_rows: 215 };
      useLive.setState({ update: { ...last, status } });
      queryClient.setQueryData(["settings"], { follows: false });
      render(<Situation />);
      const said = screen.getByRole("status").textContent;
      expect(said).toContain("refused: no such table");
      expect(said).not.toContain("nothing is lost");
      expect(screen.getByText("Begin a new run")).toBeTruthy();
    },
  );

  it("that rows wait for a store that is away", () => {
    const status = { ...last.status, storage: "down" as const, problem: null, backlog_rows: 215 };
    useLive.setState({ update: { ...last, status } });
    render(<Situation />);
    expect(screen.getByRole("status").textContent).toContain(
      "keeps 215 rows until it is back; nothing is lost",
    );
  });

  it("offers nothing where another service runs the race", () => {
    const status = { ...last.status, state: "paused" as const };
    useLive.setState({
      ...START,
      update: { ...last, status },
      connection: { ...START.connection, phase: "live" },
    });
    queryClient.setQueryData(["settings"], { follows: true });
    render(
      <>
        <ControlBar />
        <Situation />
      </>,
    );
    expect(screen.getByText(/it is steered there/)).toBeTruthy();
    expect(screen.getByRole("status").textContent).toContain("Paused");
    expect(screen.queryAllByRole("button")).toEqual([]);
  });
});
