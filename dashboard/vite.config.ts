/// <reference types="vitest/config" />
import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const service = process.env.HMS_SERVICE ?? "http://127.0.0.1:8000";
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": here("./src") } },
  server: {
    host: "127.0.0.1",
    port: 5173,
    strictPort: true,
    // The palette of plots and reports lies beside the Python code.
    fs: { allow: [here("..")] },
    proxy: { "/api": service, "/ws": { target: service, ws: true } },
  },
  build: {
    // The service serves this folder, and the wheel carries it: users never need Node.
    outDir: here("../src/hybrid_ml_scheduler/api/static"),
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    chunkSizeWarningLimit: 400,
  },
  test: {
    environment: "jsdom",
    globals: false,
    include: ["tests/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/setup.ts"],
    // One environment for all files: a DOM takes seconds to build, and nothing here leaks between files.
    isolate: false,
    fileParallelism: false,
    // A busy machine may take its time; a test that hangs is found out all the same.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
