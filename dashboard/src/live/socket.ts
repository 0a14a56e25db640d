/** The WebSocket with back-off: it reports, it decides nothing about the state. */
import type { ServerMessage } from "@/client/types";
import type { LiveEvent } from "./reducer";

export interface SocketReports {
  opened: () => void;
  event: (event: LiveEvent) => void;
  lost: (attempt: number, retryInMs: number) => void;
}

const FIRST_MS = 500;
const LAST_MS = 15_000;

/** How long to wait before attempt `attempt` (1, 2, ...), with up to 25 % jitter so that tabs do not return all at once. */
export function backOffMs(attempt: number, luck: number = Math.random()): number {
  const wait = Math.min(LAST_MS, FIRST_MS * 2 ** (attempt - 1));
  return Math.round(wait * (1 + 0.25 * luck));
}

function addressOf(path: string): string {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${window.location.host}${path}`;
}

/** A connection that comes back by itself until it is closed. */
export class LiveSocket {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private attempt = 0;
  private closed = false;
  private focus: string | null = null;

  constructor(private readonly reports: SocketReports) {}

  open(): void {
    this.closed = false;
    this.clearTimer();
    const socket = new WebSocket(addressOf("/ws"));
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
      this.reports.opened();
      this.sendFocus();
    };
    socket.onmessage = (event: MessageEvent<string>) =>
      this.reports.event({ kind: "message", message: JSON.parse(event.data) as ServerMessage });
    socket.onclose = () => this.comeBack(socket);
  }

  /** Try at once instead of waiting for the back-off. */
  retry(): void {
    if (this.socket?.readyState === WebSocket.OPEN) return;
    this.open();
  }

  ask(scheduler: string): void {
    this.focus = scheduler;
    this.sendFocus();
  }

  close(): void {
    this.closed = true;
    this.clearTimer();
    this.socket?.close();
  }

  private sendFocus(): void {
    if (this.focus && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ type: "focus", scheduler: this.focus }));
    }
  }

  private comeBack(socket: WebSocket): void {
    if (this.closed || socket !== this.socket) return;
    this.attempt += 1;
    const wait = backOffMs(this.attempt);
    this.reports.lost(this.attempt, wait);
    this.timer = setTimeout(() => this.open(), wait);
  }

  private clearTimer(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
