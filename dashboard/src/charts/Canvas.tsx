import { type MouseEvent, useEffect, useRef } from "react";
import { type Size, useSize } from "@/lib/useSize";

export interface Point {
  x: number;
  y: number;
}

export interface CanvasProps {
  label: string;
  draw: (pen: CanvasRenderingContext2D, size: Size) => void;
  onMove?: (point: Point | null, size: Size, on: Element) => void;
  onPress?: (point: Point) => void;
  onPick?: (point: Point, size: Size) => void;
  onDouble?: () => void;
  className?: string;
}

/** A canvas as sharp as the screen that redraws when its drawing or its size changes. */
export function Canvas({ label, draw, onMove, onPress, onPick, onDouble, className = "" }: CanvasProps) {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);

  useEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen || size.width === 0) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [w, h] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== w) element.width = w;
    if (element.height !== h) element.height = h;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    draw(pen, size);
  }, [draw, size]);

  const at = (event: MouseEvent): Point => ({ x: event.nativeEvent.offsetX, y: event.nativeEvent.offsetY });
  return (
    <div ref={box} className={`relative h-full min-h-0 w-full overflow-hidden ${className}`}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        className="absolute inset-0"
        style={{ width: size.width, height: size.height, cursor: onPick ? "pointer" : "default" }}
        onMouseMove={(event) => onMove?.(at(event), size, event.currentTarget)}
        onMouseLeave={(event) => onMove?.(null, size, event.currentTarget)}
        onMouseDown={(event) => onPress?.(at(event))}
        onClick={(event) => onPick?.(at(event), size)}
        onDoubleClick={onDouble}
      />
    </div>
  );
}
