import { MIB } from '../../../scheduler/units.js';
import type { ChildArguments } from '../arguments.js';
import { ChildFailure } from '../failure.js';

/** What llama.cpp and the library say when memory ran out, on any backend. */
const OUT_OF_MEMORY =
  /out of memory|failed to allocate|unable to allocate|cannot allocate memory|insufficient memory|bad_alloc|too large for the available|not enough v?ram/iu;
const TRUNCATED = /not within the file bounds|corrupted or incomplete|unexpected end|out of range|beyond|EOF/iu;

/**
 * What went wrong when a model was loaded.
 * @param errors llama.cpp's own error lines, oldest first
 */
export function explainLoadError(args: ChildArguments, error: unknown, errors: readonly string[]): ChildFailure {
  if (error instanceof ChildFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  const said = [message, ...errors];
  const memory = said.find((line) => OUT_OF_MEMORY.test(line));
  if (memory !== undefined || (error instanceof Error && error.name === 'InsufficientMemoryError')) {
    const [device = 'Host'] = args.devices;
    const mib = /allocating (\d+(?:\.\d+)?) MiB/u.exec(said.join('\n'))?.[1];
    const askedBytes = mib === undefined ? null : Math.round(Number(mib) * MIB);
    return new ChildFailure('out-of-memory', `Out of memory on ${device}: ${memory ?? message}`, {
      device,
      askedBytes,
    });
  }
  const incomplete = said.find((line) => TRUNCATED.test(line));
  const cause = (errors[0] ?? message).replace(/^(?:\w+: )+/u, '');
  return new ChildFailure(
    'unreadable-model',
    incomplete === undefined
      ? `${args.modelPath} cannot be loaded: ${cause}`
      : `${args.modelPath} is damaged or incomplete (${incomplete.replace(/^(?:\w+: )+/u, '')}); download it again.`,
  );
}
