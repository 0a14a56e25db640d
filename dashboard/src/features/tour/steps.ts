/** The kitchen, told in six steps. */

export type Scene = "people" | "walk" | "split" | "queue" | "strategies" | "try";

export interface Step {
  scene: Scene;
  title: string;
  text: string;
}

export const STEPS: readonly Step[] = [
  {
    scene: "people",
    title: "A kitchen with one prep cook and four chefs",
    text: "Orders come in one after another. The prep cook is the CPU: always there, does anything, one order at a time. The four chefs are GPUs: up to four times as fast, if the dish suits their big stoves.",
  },
  {
    scene: "walk",
    title: "The walk to the chef is the transfer",
    text: "Before a chef can start, the ingredients must be carried over. A big dish is worth the walk. For a small dish with heavy ingredients, the walk takes longer than the cooking.",
  },
  {
    scene: "split",
    title: "An order can be shared",
    text: "A share of the order may go to one chef while the prep cook does the rest at the same time. The dish is ready when the slower part is. The best share depends on the dish.",
  },
  {
    scene: "queue",
    title: "The fastest chef may be busy",
    text: "Everybody works through a queue. A quick chef with a long queue can be slower than a cook who is free. Time on the stove is execution time; time from order to plate is latency.",
  },
  {
    scene: "strategies",
    title: "Every strategy runs its own kitchen",
    text: "They all get the very same orders at the very same moments, and differ only in whom they call. Cyan learns from examples, purple by trying, and gold, the oracle, knows the best share for an empty kitchen but never looks at the queues.",
  },
  {
    scene: "try",
    title: "Now change the menu",
    text: "Press “CPU-friendly” in the controls: small dishes, heavy ingredients, so the walk dominates. A marker appears on every chart over time. Watch who adapts, and click any task to ask each strategy why.",
  },
];
