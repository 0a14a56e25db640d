import { QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { createBrowserRouter, RouterProvider } from "react-router";
import { afterEach, describe, expect, it } from "vitest";
import { queryClient } from "@/client/queries";
import type { RunCard } from "@/client/types";
import { ReplayBar } from "@/features/runs/ReplayBar";

afterEach(() => {
  cleanup();
  queryClient.clear();
  window.history.replaceState(null, "", "/");
});

const shownTask = (): number => Number(document.querySelector("[data-replay]")?.getAttribute("data-replay"));

/** A stored run of some tasks, shown at the moment that the address names. */
function show(last: number, search = ""): void {
  window.history.replaceState(null, "", `/?run=1${search}`);
  queryClient.setQueryData(["settings"], { follows: false });
  const card = { run_id: 1, first_task_id: 1, last_task_id: last } as RunCard;
  const router = createBrowserRouter([{ path: "/", element: <ReplayBar card={card} isReading={false} /> }]);
  render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

const press = async (): Promise<void> => {
  await act(async () => {
    fireEvent.click(screen.getByRole("button", { name: "Replay" }));
  });
};

describe("the replay", () => {
  it.each(["", "&at=10000"])("plays from the first task where the end is shown (%s)", async (search) => {
    show(10_000, search);
    expect(shownTask()).toBe(10_000);
    await press();
    await waitFor(() => expect(shownTask()).toBeLessThan(5000));
    const begin = shownTask();
    await waitFor(() => expect(shownTask()).toBeGreaterThan(begin), { timeout: 4000 });
    expect(shownTask()).toBeLessThan(5000);
    expect(screen.getByRole("button", { name: "Pause" })).toBeTruthy();
  });

  it("stops at the last task, and can be played again", async () => {
    show(50, "&at=49");
    await press();
    await waitFor(() => expect(shownTask()).toBe(50), { timeout: 4000 });
    await waitFor(() => expect(screen.getByRole("button", { name: "Replay" })).toBeTruthy());
    await press();
    await waitFor(() => expect(shownTask()).toBeLessThan(50), { timeout: 4000 });
    await waitFor(() => expect(screen.getByRole("button", { name: "Replay" })).toBeTruthy(), {
      timeout: 4000,
    });
  });

  it("has nothing to play in a run of one task", async () => {
    show(1);
    await press();
    await waitFor(() => expect(screen.getByRole("button", { name: "Replay" })).toBeTruthy());
  });
});
