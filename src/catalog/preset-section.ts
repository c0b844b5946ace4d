import { LONGEST_TIMER_MILLIS, type Millis } from '../scheduler/units.js';
import type { ChildOption } from './entry.js';
import { isPresetOnly, isRouterOwned, PRESET_ONLY_KEYS, type PresetOnlyKey } from './known-keys.js';
import type { ModelSettings } from './model-settings.js';
import { findOption, nearestOption, type OptionMatch, type OptionTable, truthOf } from './option-table.js';
import { whyNotTaken } from './option-value.js';
import type { GrammarNotice, PresetKey, PresetSection } from './preset-grammar.js';
import { quote } from './quote.js';

const ENGINES = ['auto', 'llama-server', 'embedded', 'sim'] as const;
const TRUTH_WORDS = 'true, on, 1, enabled or false, off, 0, disabled';

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
type Say = (line: number, message: string, fault?: string) => void;

/** The section that is laid under all models. */
export const FOR_ALL = '*';

export interface SectionReading {
  /** Null when llama-server would refuse to start on the section. */
  readonly settings: ModelSettings | null;
  readonly notices: readonly GrammarNotice[];
}

/** Reads the keys of one section as options of the child and as settings of ours. Never throws. */
export function readSection(section: PresetSection, table: OptionTable): SectionReading {
  const notices: GrammarNotice[] = [];
  const say: Say = (line, message, fault) => {
    notices.push(fault === undefined ? { line, message } : { line, message, fault });
  };
  const options = new Map<string, ChildOption['value']>();
  const settings: Writable<ModelSettings> = { options };
  let refused = false;
  // llama-server takes the keys in the order of their bytes: of two names of one option the later one there counts.
  const keys = section.keys.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  for (const entry of keys) {
    const { key, line } = entry;
    if (key === 'version') continue;
    if (isPresetOnly(key)) {
      readOwnKey(key, entry, settings, say);
      continue;
    }
    const match = findOption(table, key);
    if (isRouterOwned(match?.spec.name ?? key)) {
      say(line, `key ${quote(key)} is ignored: it is the router's; give it to the router itself, on its command line`);
    } else if (match === null) {
      // Going on without all of [*] would change every model, down to the memory that it takes; one key changes the least.
      refused ||= section.name !== FOR_ALL;
      const { message, fault } = unknownKey(section.name, key, table);
      say(line, message, fault);
    } else {
      const value = optionValue(match, entry, say);
      if (options.has(match.spec.name)) {
        say(
          line,
          `key ${quote(key)} is another name of "${match.spec.name}", which is given too; this one counts, wherever it stands`,
        );
      }
      options.set(match.spec.name, value);
    }
  }
  return { settings: refused ? null : settings, notices };
}

function unknownKey(
  section: string,
  key: string,
  table: OptionTable,
): Required<Pick<GrammarNotice, 'message' | 'fault'>> {
  const nearest = nearestOption(table, key, PRESET_ONLY_KEYS);
  const meant = nearest === null ? 'no option is called so' : `did you mean "${nearest}"?`;
  const without = section === FOR_ALL ? 'the key' : `section ${quote(section)}`;
  const unknown = `unknown key ${quote(key)}`;
  return {
    message: `${unknown}, on which llama-server would not start: ${without} is left out; ${meant}`,
    fault: `${unknown}; ${meant}`,
  };
}

/**
 * What llama-server makes of it: for a `no-` form yes means no, and anything else means yes; for the rest only its words
 * for no mean no.
 */
function optionValue(match: OptionMatch, { key, value, line }: PresetKey, say: Say): ChildOption['value'] {
  const { spec, negated, negativeVariable } = match;
  if (spec.takesValue) {
    const why = whyNotTaken(value, spec);
    if (why !== null) say(line, `key ${quote(key)} ${why}: no model starts with it`, `key ${quote(key)} ${why}`);
    else if (value === '') say(line, `key ${quote(key)} has no value`);
    return value;
  }
  const truth = truthOf(value);
  const on = negated ? truth !== true : truth !== false;
  if (truth === null) {
    say(
      line,
      `${quote(value)} is no yes or no for the flag ${quote(key)}, and means ${on ? 'on' : 'off'}; write ${TRUTH_WORDS}`,
    );
  }
  if (negativeVariable) {
    say(
      line,
      `${quote(key)} does not turn its value round in a preset: "${spec.name}" is ${on ? 'on' : 'off'}; write ${spec.name} = …`,
    );
  }
  return on;
}

function readOwnKey(key: PresetOnlyKey, { value, line }: PresetKey, settings: Writable<ModelSettings>, say: Say): void {
  switch (key) {
    case 'load-on-startup':
      settings.loadOnStartup = yesOrNo(key, value, line, say);
      return;
    case 'pin':
      settings.pin = yesOrNo(key, value, line, say);
      return;
    case 'priority':
      if (/^[+-]?\d{1,9}$/u.test(value)) settings.priority = Number(value);
      else say(line, `${quote(value)} is no priority and is ignored; write a whole number`);
      return;
    case 'idle-timeout': {
      const millis = value === 'never' ? 0 : seconds(value);
      if (millis !== null) settings.idleTimeoutMillis = millis;
      else say(line, `${quote(value)} is no idle-timeout and is ignored; write seconds, or never`);
      return;
    }
    case 'load-timeout': {
      const millis = value === 'never' ? 0 : seconds(value);
      if (millis !== null) settings.loadTimeoutMillis = millis;
      else say(line, `${quote(value)} is no load-timeout and is ignored; write seconds, or never`);
      return;
    }
    case 'stop-timeout': {
      const millis = seconds(value);
      if (millis !== null) settings.stopTimeoutMillis = millis;
      else say(line, `${quote(value)} is no stop-timeout and is ignored; write seconds`);
      return;
    }
    case 'engine':
      if (isEngine(value)) settings.engine = { name: value, line };
      else say(line, `${quote(value)} is no engine and is ignored; write one of ${ENGINES.join(', ')}`);
      return;
    case 'dedup-cache-models':
      settings.dedupCacheModels = yesOrNo(key, value, line, say);
      return;
  }
}

function isEngine(value: string): value is (typeof ENGINES)[number] {
  return (ENGINES as readonly string[]).includes(value);
}

function yesOrNo(key: string, value: string, line: number, say: Say): boolean {
  const truth = truthOf(value);
  if (truth === null) say(line, `${quote(value)} is no yes or no for "${key}", and means no; write ${TRUTH_WORDS}`);
  return truth === true;
}

/** Milliseconds, or null for what is no number of seconds; capped where timers end. */
function seconds(text: string): Millis | null {
  return /^\d{1,12}(?:\.\d{1,3})?$/u.test(text)
    ? Math.min(Math.round(Number(text) * 1000), LONGEST_TIMER_MILLIS)
    : null;
}
