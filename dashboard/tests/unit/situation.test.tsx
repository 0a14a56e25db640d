import { QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { queryClient } from "@/client/queries";
import { ConnectionPill } from "@/features/shell/ConnectionPill";
import { ControlBar } from "@/features/shell/ControlBar";
import { forgetNewRun, useNewRun } from "@/features/shell/newRun";
import { Situation } from "@/features/shell/Situation";
import { START } from "@/live/state";
import { dispatch, useLive } from "@/live/store";
import { last } from "../fixtures";

afterEach(() => {
  cleanup();
  queryClient.clear();
  forgetNewRun();
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
    render(<Situation />);
    expect(screen.getByRole("status").textContent).toContain("Run 1 cannot be continued: no file.");
    expect(screen.queryByText("Continue")).toBeNull();
    fireEvent.click(screen.getByText("Begin a new run"));
    expect(useNewRun.getState().isAsked).toBe(true);
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

  it("that a service which follows does not hear the race, whatever it heard last", () => {
    queryClient.setQueryData(["settings"], { follows: true });
    for (const state of ["running", "paused", "stopped", "idle"] as const) {
      const unheard = "The service that runs the race has not been heard since 04:05:42 UTC.";
      const status = { ...last.status, state, out_of_sight: unheard, problem: "boom failed." };
      const connection = { ...START.connection, phase: "live" as const };
      useLive.setState({ ...START, update: { ...last, status }, connection });
      render(
        <>
          <ConnectionPill />
          <ControlBar />
          <Situation />
        </>,
      );
      const said = document.body.textContent;
      expect(said).toContain("The race is out of sight");
      expect(said).toContain("not been heard since 04:05:42 UTC.");
      expect(said).toContain("boom failed.");
      expect(said).not.toContain("Live");
      expect(screen.queryAllByRole("button")).toEqual([]);
      cleanup();
    }
  });

  it("that a race which should move is not heard, and why, until it is heard again", () => {
    vi.useFakeTimers({ now: 1e12 });
    const status = { ...last.status, state: "running" as const, problem: null, out_of_sight: null };
    const hear = (change: Partial<typeof last.status> = {}): void => {
      const seq = (useLive.getState().seq ?? last.seq) + 1;
      dispatch({
        kind: "message",
        message: { ...last, seq, status: { ...status, storage: "ok", ...change } },
      });
      act(() => vi.advanceTimersByTime(1000));
    };
    queryClient.setQueryData(["settings"], { follows: false });
    queryClient.setQueryData(["health"], {
      engine: { status: "degraded", latency_ms: null, detail: "The engine compiles td_step." },
    });
    useLive.setState({ ...START, connection: { ...START.connection, phase: "live" } });
    hear();
    render(
      <>
        <ConnectionPill />
        <Situation />
      </>,
    );
    const said = (): string => document.body.textContent ?? "";
    act(() => vi.advanceTimersByTime(2000));
    expect(said()).toContain("Live");
    act(() => vi.advanceTimersByTime(9000));
    expect(said()).not.toContain("Live");
    expect(said()).toContain("No news of the race");
    expect(said()).toMatch(/Nothing was heard of it for 1[12] s/);
    expect(said()).toContain("The engine compiles td_step.");
    hear();
    expect(said()).toContain("Live");
    expect(said()).not.toContain("No news of the race");
    hear({ state: "paused" });
    act(() => vi.advanceTimersByTime(60_000));
    expect(said()).toContain("Paused");
    vi.useRealTimers();
  });

  it("nothing can be pressed that a race which cannot go on would refuse", () => {
    const status = { ...last.status, state: "stopped" as const, problem: "boom failed.", out_of_sight: null };
    const connection = { ...START.connection, phase: "live" as const };
    useLive.setState({ ...START, update: { ...last, status }, connection });
    queryClient.setQueryData(["settings"], { follows: false });
    queryClient.setQueryData(["presets"], [{ name: "mixed", description: "" }]);
    render(
      <QueryClientProvider client={queryClient}>
        <ControlBar />
      </QueryClientProvider>,
    );
    const enabled = [...document.querySelectorAll<HTMLButtonElement>("button, input, select")].filter(
      (one) => !one.disabled,
    );
    expect(enabled.map((one) => one.ariaLabel ?? one.textContent.trim())).toEqual([
      "Begin a new run",
      "Steer",
    ]);
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
