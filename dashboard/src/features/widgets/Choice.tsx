export interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  /** `short` is what a phone shows, where it has one; `refusal` says why an option cannot be had. */
  options: readonly { key: T; label: string; short?: string; refusal?: string }[];
  onChange: (value: T) => void;
}

/** One of a few: joined buttons that say which one is on. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.key}
          type="button"
          className="segment"
          aria-pressed={option.key === value}
          disabled={option.refusal !== undefined}
          title={option.refusal}
          onClick={() => onChange(option.key)}
        >
          {option.short ? (
            <>
              <span className="sm:hidden">{option.short}</span>
              <span className="max-sm:hidden">{option.label}</span>
            </>
          ) : (
            option.label
          )}
        </button>
      ))}
    </fieldset>
  );
}

/** One of many: the system's own list, which every phone and screen reader knows. */
export function Pick<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <select
      className="field max-w-44 py-0.5 text-xs"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
    >
      {options.map((option) => (
        <option key={option.key} value={option.key} disabled={option.refusal !== undefined}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
