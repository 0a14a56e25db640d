/** What a real service said during a short race (scripts/make_fixtures.py). */
import type {
  LedgerPage,
  Models,
  ServerMessage,
  SimulationUpdate,
  Snapshot,
  Stats,
  StrategyCard,
  TaskAudit,
  Trend,
} from "@/client/types";
import audit from "./fixtures/audit.json";
import ledger from "./fixtures/ledger.json";
import messages from "./fixtures/messages.json";
import models from "./fixtures/models.json";
import stats from "./fixtures/stats.json";
import strategies from "./fixtures/strategies.json";
import trend from "./fixtures/trend.json";

// JSON has no types of its own: the service's OpenAPI says what these are.
export const MESSAGES = messages as unknown as ServerMessage[];
export const SNAPSHOT = MESSAGES.find((message) => message.type === "snapshot") as Snapshot;
export const UPDATES = MESSAGES.filter(
  (message) => message.type === "simulation_update",
) as SimulationUpdate[];
export const STATS = stats as unknown as Stats;
export const LEDGER = ledger as unknown as LedgerPage;
export const TREND = trend as unknown as Trend;
export const MODELS = models as unknown as Models;
export const AUDIT = audit as unknown as TaskAudit;
export const STRATEGIES = strategies as unknown as StrategyCard[];

export const last = UPDATES.at(-1) as SimulationUpdate;
