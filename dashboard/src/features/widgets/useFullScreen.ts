/** A widget over the whole window, in the browser's top layer: nothing around it can clip it. */
import { type RefObject, useEffect, useState } from "react";

const OPEN = "[popover='auto']:popover-open, dialog[open]";

export function useFullScreen(frame: RefObject<HTMLElement | null>): [boolean, (wanted: boolean) => void] {
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    const element = frame.current;
    if (!isFull || !element) return;
    element.setAttribute("popover", "manual");
    element.showPopover();
    const leave = (event: KeyboardEvent): void => {
      // A menu or a dialog above it is closed first.
      if (event.key === "Escape" && document.querySelector(OPEN) === null) setFull(false);
    };
    document.addEventListener("keydown", leave, true);
    return () => {
      document.removeEventListener("keydown", leave, true);
      if (element.matches(":popover-open")) element.hidePopover();
      element.removeAttribute("popover");
    };
  }, [isFull, frame]);
  return [isFull, setFull];
}
