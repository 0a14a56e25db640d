import type { Scene } from "./steps";

const CHEFS = [46, 104, 162, 220] as const;

interface PersonProps {
  x: number;
  y: number;
  colour: string;
  label: string;
  bright: boolean;
  hat: "tall" | "flat";
}

function Person({ x, y, colour, label, bright, hat }: PersonProps) {
  return (
    <g transform={`translate(${x} ${y})`} opacity={bright ? 1 : 0.4} style={{ transition: "opacity 400ms" }}>
      <path d="M-15 22c0-12 6-18 15-18s15 6 15 18z" fill={colour} opacity="0.9" />
      <circle r="8" cy="-3" fill="#f3d2b3" />
      {hat === "tall" ? (
        <path
          d="M-8-8v-7a5 5 0 0 1 3-9 6 6 0 0 1 10 0 5 5 0 0 1 3 9v7z"
          fill="#ffffff"
          stroke="var(--line)"
        />
      ) : (
        <path d="M-9-7q9-9 18 0z" fill="#ffffff" stroke="var(--line)" />
      )}
      <text x="24" y="13" fontSize="11" fontWeight="600" fill="var(--ink)">
        {label}
      </text>
    </g>
  );
}

interface TicketProps {
  path: string;
  /** Where it lies for a person who asked for stillness. */
  rest: readonly [number, number];
  ahead?: number;
  still: boolean;
}

function Ticket({ path, rest, ahead = 0, still }: TicketProps) {
  return (
    <g {...(still ? { transform: `translate(${rest[0]} ${rest[1]})` } : {})}>
      <rect x="-6" y="-7" width="12" height="14" rx="2" fill="var(--gold)" />
      <path d="M-3-3h6M-3 0h6M-3 3h4" stroke="#5a4300" strokeWidth="1.2" />
      {!still && <animateMotion dur="2.8s" begin={`-${ahead}s`} repeatCount="indefinite" path={path} />}
    </g>
  );
}

function Queue({ x, y, length }: { x: number; y: number; length: number }) {
  return (
    <g>
      {Array.from({ length }, (_, i) => i).map((i) => (
        <rect
          key={i}
          x={x - 26 - i * 13}
          y={y + 6}
          width="10"
          height="12"
          rx="2"
          fill="var(--gold)"
          opacity={1 - i * 0.12}
        />
      ))}
    </g>
  );
}

const walkTo = (y: number): string => `M150 140 C 230 140, 250 ${y + 8}, 352 ${y + 8}`;

const WORDS: Record<Scene, string> = {
  people: "A prep cook on the left and four chefs on the right",
  walk: "Dashed paths lead from the prep cook to each chef: the walk is the transfer",
  split: "One order is shared between the prep cook and one chef",
  queue: "One chef has a long queue of orders, another has none",
  strategies: "Three kitchens in cyan, purple and gold get the same orders",
  try: "All orders stay with the prep cook, for the walk would take too long",
};

/** The drawing beside the words; it moves unless the person asked for stillness. */
export function Kitchen({ scene }: { scene: Scene }) {
  const still = window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;
  const chefs = scene !== "try";
  const tints =
    scene === "strategies"
      ? ["var(--ml)", "var(--rl)", "var(--gold)", "var(--muted)"]
      : Array(4).fill("var(--ml)");
  return (
    <svg viewBox="0 0 470 268" className="w-full" role="img" aria-label={WORDS[scene]}>
      <rect x="6" y="6" width="458" height="256" rx="16" fill="var(--raised)" stroke="var(--line)" />
      <text x="24" y="32" fontSize="11" fill="var(--muted)">
        orders
      </text>
      <path d="M24 140 H 96" stroke="var(--gold)" strokeWidth="2" strokeDasharray="2 5" />
      {CHEFS.map((y, i) => (
        <path
          key={y}
          d={walkTo(y)}
          fill="none"
          stroke={scene === "walk" ? "var(--warn)" : "var(--line)"}
          strokeWidth={scene === "walk" ? 2.5 : 1.5}
          strokeDasharray="6 6"
          opacity={scene === "split" && i !== 1 ? 0.25 : 1}
        />
      ))}
      {scene === "walk" && (
        <text x="150" y="52" fontSize="12" fontWeight="600" fill="var(--warn)">
          the walk = transfer
        </text>
      )}
      <Person x={122} y={133} colour="var(--warn)" label="" bright hat="flat" />
      <text x="122" y="176" fontSize="11" fontWeight="600" fill="var(--ink)" textAnchor="middle">
        CPU, prep cook
      </text>
      {CHEFS.map((y, i) => (
        <Person
          key={y}
          x={380}
          y={y}
          colour={tints[i] as string}
          label={`GPU ${i}`}
          bright={chefs && (scene !== "split" || i === 1)}
          hat="tall"
        />
      ))}
      {scene === "queue" && <Queue x={380} y={46} length={6} />}
      {scene === "queue" && <Queue x={380} y={162} length={1} />}
      {scene === "people" && <Ticket path="M30 140 H 100" rest={[62, 140]} still={still} />}
      {(scene === "walk" || scene === "queue") && <Ticket path={walkTo(46)} rest={[262, 84]} still={still} />}
      {scene === "split" && (
        <>
          <Ticket path={walkTo(104)} rest={[262, 124]} still={still} />
          <Ticket path="M30 140 H 100" rest={[62, 140]} still={still} />
          <text x="222" y="112" fontSize="12" fontWeight="600" fill="var(--ml)">
            70 %
          </text>
          <text x="60" y="128" fontSize="12" fontWeight="600" fill="var(--warn)">
            30 %
          </text>
        </>
      )}
      {scene === "strategies" &&
        CHEFS.slice(0, 3).map((y, i) => (
          <Ticket key={y} path={walkTo(y)} rest={[340, y + 8]} ahead={i * 0.3} still={still} />
        ))}
      {scene === "try" && <Queue x={122} y={129} length={4} />}
      {scene === "try" && (
        <text x="200" y="145" fontSize="12" fontWeight="600" fill="var(--warn)">
          too far for a small dish
        </text>
      )}
    </svg>
  );
}
