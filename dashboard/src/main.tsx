import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { queryClient } from "@/client/queries";
import { startTheme } from "@/lib/theme";
import { connect } from "@/live/store";
import { router } from "@/router";
import "@/styles.css";

startTheme();
connect(() => void queryClient.invalidateQueries());

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
