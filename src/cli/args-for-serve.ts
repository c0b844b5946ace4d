import { createHash } from 'node:crypto';

/** Flags of the screen alone, which serve does not know, with whether they take a value. */
const SCREEN_FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['--glyphs', true],
  ['--read-only', false],
]);

/**
 * What serve is started with: the arguments less those of the screen. Keys go on in the environment: anybody can read
 * the arguments of a process.
 */
export function argsForServe(args: readonly string[]): {
  readonly argv: readonly string[];
  readonly keys: readonly string[];
} {
  const argv: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', ...inline] = (args[i] ?? '').split('=');
    const takesValue = flag === '--api-key' || SCREEN_FLAGS.get(flag) === true;
    if (flag !== '--api-key' && !SCREEN_FLAGS.has(flag)) {
      argv.push(args[i] ?? '');
      continue;
    }
    const value = takesValue && inline.length === 0 ? args[(i += 1)] : inline.join('=');
    if (flag === '--api-key' && value !== undefined) keys.push(value);
  }
  return { argv, keys };
}

/** Flags that say where a supervisor is, or how it ends, and not what it does. */
const FLAGS_OF_PLACE: ReadonlyMap<string, boolean> = new Map([
  ['--state-dir', true],
  ['--on-close', true],
  ['--owned', false],
]);

/** True when the arguments ask for nothing but a screen, wherever that may be. */
export function asksForNothing(args: readonly string[]): boolean {
  const { argv, keys } = argsForServe(args);
  return keys.length === 0 && without(argv, FLAGS_OF_PLACE).length === 0;
}

/** The same for two supervisors that would do the same. Keys count, but cannot be read from it. */
export function flagsKey(args: readonly string[], environment: NodeJS.ProcessEnv = process.env): string {
  const { argv, keys } = argsForServe(args);
  const allKeys = keys.length > 0 ? keys.join(',') : (environment['LLAMA_API_KEY'] ?? '');
  const all = JSON.stringify([without(argv, FLAGS_OF_PLACE), allKeys]);
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
