/** A strategy's label and colour in the theme that is worn now. */
import { useMemo } from "react";
import { useStrategies } from "@/client/queries";
import type { StrategyCard } from "@/client/types";
import { useLive } from "@/live/store";
import { strategyColour, strategyDash, strategyStyle } from "./palette";
import { useTheme } from "./theme";

export interface StrategyFace {
  name: string;
  label: string;
  colour: string;
  /** The dash of its lines; undefined is a full line. */
  dash: string | undefined;
  card: StrategyCard | undefined;
}

/** `my_rule` as `My rule`, for a strategy that brings no label; abbreviations stay abbreviations. */
export function spoken(name: string): string {
  const words = name.replaceAll("_", " ").replace(/\b(cpu|gpu|ml|rl)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The label of a strategy that knows what its whole race knows needs no level; another level is part of its name. */
export const plainLabel = (name: string, label: string): string =>
  name.includes("@") ? label : label.replace(/ \((learned|nominal)\)$/, "");

const MODELLED = /\.modelled$/;

/** Whether a strategy of a real run only would have done this: its seconds come from the model. */
export const isModelled = (name: string): boolean => MODELLED.test(name);

export type FaceOf = (name: string) => StrategyFace;

export function useFaces(): FaceOf {
  const cards = useStrategies();
  const theme = useTheme((s) => s.theme);
  return useMemo(() => {
    const known = new Map(cards.map((card) => [card.name, card]));
    const worn = new Set(cards.map((card) => card.color));
    const faces = new Map<string, StrategyFace>();
    return (name: string) => {
      const found = faces.get(name);
      if (found) return found;
      // What the model says of a strategy in a real run wears its colour.
      const own = name.replace(MODELLED, "");
      const card = known.get(own);
      const style = strategyStyle(own, card?.color, worn);
      worn.add(style.colour);
      const isOwn = own === name;
      const full = strategyColour(style, theme);
      const [colour, dash] = [isOwn ? full : `${full}99`, isOwn ? strategyDash(style) : "1 5"];
      const label = card ? plainLabel(own, card.label) : spoken(own);
      const face = { name, label: isOwn ? label : `${label} (modelled)`, colour, dash, card };
      faces.set(name, face);
      return face;
    };
  }, [cards, theme]);
}

/** The strategies of the race, in the order the service names them. */
export function useRacers(): readonly string[] {
  const joined = useLive((s) => s.update?.status.schedulers.join(" ") ?? "");
  return useMemo(() => (joined ? joined.split(" ") : []), [joined]);
}
