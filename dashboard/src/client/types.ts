/** The wire types by their names; all of them come from the generated schema. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Adaptation = Schemas["Adaptation"];
export type AdaptedStrategy = Schemas["AdaptedStrategy"];
export type Advice = Schemas["Advice"];
export type Beliefs = Schemas["Beliefs"];
export type BelievedCell = Schemas["BelievedCell"];
export type Bound = Schemas["Bound"];
export type Comparison = Schemas["Comparison"];
export type DecisionAudit = Schemas["DecisionAudit"];
export type DeviceLoad = Schemas["DeviceLoad"];
export type ClusterLoad = { average_utilization: number; cpu: DeviceLoad } & Record<
  string,
  DeviceLoad | number
>;
export type BranchRequest = Partial<Schemas["BranchRequest"]>;
export type Collection = Schemas["Collection"];
export type Correlations = Schemas["Correlations"];
export type Costliest = Schemas["Costliest"];
export type Gantt = Schemas["Gantt"];
export type GpuTypeCard = Schemas["GpuTypeCard"];
export type Health = Schemas["Health"];
export type HeatMap = Schemas["HeatMap"];
export type Histogram = Schemas["Histogram"];
export type LatestTask = Schemas["LatestTask"];
export type LearningState = Schemas["LearningState"];
export type LedgerPage = Schemas["LedgerPage"];
export type LedgerRow = Schemas["LedgerRow"];
export type LoadHistory = Schemas["LoadHistory"];
export type LogLine = Schemas["LogLine"];
export type Metric = Schemas["Metric"];
export type Models = Schemas["Models"];
export type ModelVersion = Schemas["ModelVersion"];
export type NodeMotion = Schemas["NodeMotion"];
export type NewTask = Omit<
  Schemas["NewTask"],
  "arrival_time" | "dependencies" | "kind" | "gpus_required" | "runs_on"
>;
export type Notification = Schemas["Notification"];
export type Preset = Schemas["Preset"];
export type Problem = Schemas["Problem"];
export type OtherDecision = Schemas["OtherDecision"];
export type PairedRuns = Schemas["PairedRuns"];
export type Recommendation = Schemas["Recommendation"];
export type RecommendationDemand = Pick<Schemas["RecommendationDemand"], "nodes"> &
  Partial<Schemas["RecommendationDemand"]>;
export type RecommendationList = Schemas["RecommendationList"];
export type RecommendationRecord = Schemas["RecommendationRecord"];
export type RecommendationTrial = Schemas["RecommendationTrial"];
export type RunCard = Schemas["RunCard"];
export type RunComparison = Schemas["RunComparison"];
export type RunList = Schemas["RunList"];
export type RunPatch = Schemas["RunPatch"];
export type RunStanding = Schemas["RunStanding"];
export type ServerMessage = Schemas["ServerMessage"];
export type ServiceCard = Schemas["About"];
export type Shift = Schemas["Shift"];
export type SimulationPatch = Schemas["SimulationPatch"];
export type SimulationStatus = Schemas["SimulationStatus"];
export type SimulationUpdate = Schemas["SimulationUpdate"];
export type Snapshot = Schemas["Snapshot"];
export type StartRequest = Schemas["StartRequest"];
export type Stats = Schemas["Stats"];
export type StrategyAudit = Schemas["StrategyAudit"];
export type StrategyMotion = Schemas["StrategyMotion"];
export type StrategyCard = Schemas["StrategyCard"];
export type TaskAdvice = Schemas["TaskAdvice"];
export type TaskAudit = Schemas["TaskAudit"];
export type Trend = Schemas["Trend"];
export type UploadCard = Schemas["UploadCard"];
export type UploadList = Schemas["UploadList"];
export type Window = Schemas["Window"];
export type WhatIfAnswer = Schemas["WhatIfAnswer"];
export type WinMatrix = Schemas["WinMatrix"];
