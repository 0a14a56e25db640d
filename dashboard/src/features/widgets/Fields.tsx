/** Fields of forms: a number that is typed, a choice from a list. */
import { type ReactNode, useState } from "react";

export interface LabelledProps {
  label: string;
  title?: string;
  className?: string;
  children: ReactNode;
}

/** A field under its name. */
export function Labelled({ label, title, className = "", children }: LabelledProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label className={`block text-sm ${className}`} title={title}>
      <span className="eyebrow block">{label}</span>
      {children}
    </label>
  );
}

export interface NumberFieldProps {
  label: string;
  value: string;
  isWrong: boolean;
  title: string;
  onChange: (text: string) => void;
}

export function NumberField({ label, value, isWrong, title, onChange }: NumberFieldProps) {
  return (
    <Labelled label={label}>
      <input
        className="field figure mt-1 h-8 w-full"
        inputMode="decimal"
        autoComplete="off"
        value={value}
        aria-invalid={isWrong}
        title={title}
        onChange={(event) => onChange(event.target.value)}
      />
    </Labelled>
  );
}

/** What was typed into a field, else what is there now; wrong where it means nothing. */
export function useTyped(now: string, meaning: (text: string) => number | null) {
  const [typed, setTyped] = useState<string | null>(null);
  const wished = typed === null || typed === now ? null : meaning(typed);
  return {
    text: typed ?? now,
    set: setTyped,
    wished,
    isWrong: typed !== null && typed !== now && typed !== "" && wished === null,
  };
}

export interface PickFieldProps {
  label: string;
  value: string;
  title: string;
  options: readonly { key: string; label: string; title?: string }[];
  onChange: (key: string) => void;
}

export function PickField({ label, value, title, options, onChange }: PickFieldProps) {
  return (
    <Labelled label={label} title={title}>
      <select
        className="field mt-1 h-8 w-full"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((one) => (
          <option key={one.key} value={one.key} title={one.title}>
            {one.label}
          </option>
        ))}
      </select>
    </Labelled>
  );
}
