/** How tokens are chosen where a request does not say otherwise; llama-server's defaults. */
export interface SamplingDefaults {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  /** Null: another one for each request. */
  readonly seed: number | null;
  /** Null: until the model ends or the context is full. */
  readonly maxTokens: number | null;
  /** Tokens that the penalties look back; -1: all. */
  readonly repeatLastTokens: number;
  readonly repeatPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  readonly xtcProbability: number;
  readonly xtcThreshold: number;
  readonly dryMultiplier: number;
  readonly dryBase: number;
  readonly dryAllowedLength: number;
  /** Tokens that DRY looks back; -1: all. */
  readonly dryLastTokens: number;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

/** Reads one of llama-server's options; null where it is not given. */
export type ReadNumber = (name: string, range: Range) => number | null;

const COUNT: Range = { min: -1, max: 2 ** 31 - 1, integer: true };

/** The options of a child that say how tokens are chosen. */
export const SAMPLING_OPTIONS: readonly string[] = [
  ...['temperature', 'top-k', 'top-p', 'min-p', 'seed', 'n-predict', 'repeat-last-n', 'repeat-penalty'],
  ...['presence-penalty', 'frequency-penalty', 'xtc-probability', 'xtc-threshold', 'dry-multiplier', 'dry-base'],
  ...['dry-allowed-length', 'dry-penalty-last-n'],
];

export function readSamplingDefaults(number: ReadNumber): SamplingDefaults {
  return {
    temperature: number('temperature', { min: 0, max: 100 }) ?? 0.8,
    topK: number('top-k', { min: 0, max: 1e9, integer: true }) ?? 40,
    topP: number('top-p', { min: 0, max: 1 }) ?? 0.95,
    minP: number('min-p', { min: 0, max: 1 }) ?? 0.05,
    seed: atLeastZero(number('seed', { min: -1, max: 0xffff_ffff, integer: true })),
    maxTokens: atLeastZero(number('n-predict', { min: -2, max: 1e9, integer: true })),
    repeatLastTokens: number('repeat-last-n', COUNT) ?? 64,
    repeatPenalty: number('repeat-penalty', { min: 0, max: 100 }) ?? 1,
    presencePenalty: number('presence-penalty', { min: -100, max: 100 }) ?? 0,
    frequencyPenalty: number('frequency-penalty', { min: -100, max: 100 }) ?? 0,
    xtcProbability: number('xtc-probability', { min: 0, max: 1 }) ?? 0,
    xtcThreshold: number('xtc-threshold', { min: 0, max: 1 }) ?? 0.1,
    dryMultiplier: number('dry-multiplier', { min: 0, max: 100 }) ?? 0,
    dryBase: number('dry-base', { min: 1, max: 100 }) ?? 1.75,
    dryAllowedLength: number('dry-allowed-length', { min: 1, max: 1e6, integer: true }) ?? 2,
    dryLastTokens: number('dry-penalty-last-n', COUNT) ?? -1,
  };
}

function atLeastZero(value: number | null): number | null {
  return value !== null && value >= 0 ? value : null;
}
