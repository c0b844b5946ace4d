import { createHash } from 'node:crypto';

/** Flags of the screen alone, which serve does not know, with whether they take a value. */
const SCREEN_FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['--glyphs', true],
  ['--theme', true],
  ['--screen-reader', false],
  ['--read-only', false],
]);

/** Flags with a secret for a value, and the variables that say the same. */
const SECRET_FLAGS: ReadonlyMap<string, string> = new Map([
  ['--api-key', 'LLAMA_API_KEY'],
  ['--hf-token', 'HF_TOKEN'],
  ['-hft', 'HF_TOKEN'],
]);

/**
 * What serve is started with: the arguments less those of the screen. Secrets go on in the environment: anybody can
 * read the arguments of a process.
 */
export function argsForServe(args: readonly string[]): {
  readonly argv: readonly string[];
  /** By variable; of several keys all, of several tokens the last. */
  readonly secrets: Readonly<Record<string, string>>;
} {
  const argv: string[] = [];
  const secrets: Record<string, string> = {};
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', ...inline] = (args[i] ?? '').split('=');
    const variable = SECRET_FLAGS.get(flag);
    if (variable === undefined && !SCREEN_FLAGS.has(flag)) {
      argv.push(args[i] ?? '');
      continue;
    }
    const takesValue = variable !== undefined || SCREEN_FLAGS.get(flag) === true;
    const value = takesValue && inline.length === 0 ? args[(i += 1)] : inline.join('=');
    if (variable === undefined || value === undefined) continue;
    const earlier = flag === '--api-key' ? secrets[variable] : undefined;
    secrets[variable] = earlier === undefined ? value : `${earlier},${value}`;
  }
  return { argv, secrets };
}

/** Flags that say where a supervisor is, or how it ends, and not what it does. */
const FLAGS_OF_PLACE: ReadonlyMap<string, boolean> = new Map([
  ['--state-dir', true],
  ['--on-close', true],
  ['--owned', false],
]);

/** True when the arguments ask for nothing but a screen, wherever that may be. */
export function asksForNothing(args: readonly string[]): boolean {
  const { argv, secrets } = argsForServe(args);
  return Object.keys(secrets).length === 0 && without(argv, FLAGS_OF_PLACE).length === 0;
}

/** The same for two supervisors that would do the same. Secrets count, but cannot be read from it. */
export function flagsKey(args: readonly string[], environment: NodeJS.ProcessEnv = process.env): string {
  const { argv, secrets } = argsForServe(args);
  const told = [...new Set(SECRET_FLAGS.values())].map((name) => secrets[name] ?? environment[name] ?? '');
  const all = JSON.stringify([without(argv, FLAGS_OF_PLACE), ...told]);
  return createHash('sha256').update(all).digest('hex').slice(0, 16);
}

function without(args: readonly string[], flags: ReadonlyMap<string, boolean>): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', ...inline] = (args[i] ?? '').split('=');
    if (!flags.has(flag)) kept.push(args[i] ?? '');
    else if (flags.get(flag) === true && inline.length === 0) i += 1;
  }
  return kept;
}
