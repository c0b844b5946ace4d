import { visibleText } from '../../components/text/clean.js';
import type { ChildMemory, MemoryRow } from '../engines/messages.js';
import { MIB, type Bytes } from '../scheduler/units.js';
import type { Measured } from './measure.js';
import { alignColumns } from './table.js';

const HEAD = ['MODEL', 'CONTEXT', 'DEVICE', 'WEIGHTS', 'CACHE', 'COMPUTE', 'TOTAL MiB'];

/**
 * What models need, device by device, at the smallest context that may be chosen and at the largest that fits now; nothing
 * where nothing is known of any.
 */
export function describeMeasured(measured: readonly Measured[]): string {
  const rows = measured.flatMap((one) => rowsOf(one));
  return rows.length === 0 ? '' : `${alignColumns([HEAD, ...rows], 3).join('\n')}\n`;
}

function rowsOf({ model, status, min, max, estimate }: Measured): readonly (readonly string[])[] {
  const name = visibleText(model);
  if (status !== 'measured' || min === null) {
    const guesses = Object.entries(estimate ?? {});
    return guesses.map(([device, bytes]) => [name, 'estimated', device, '', '', '', `~${mib(bytes)}`]);
  }
  const isFixed = max === null || max.n_ctx === min.n_ctx;
  return [...rowsAt(name, min), ...(isFixed ? [] : rowsAt(name, max))];
}

function rowsAt(name: string, { n_ctx, devices }: ChildMemory): readonly (readonly string[])[] {
  return devices
    .filter((row) => sumOf(row) > 0)
    .map((row) => [
      name,
      n_ctx === 0 ? '' : String(n_ctx),
      visibleText(row.name),
      mib(row.model),
      mib(row.context),
      mib(row.compute),
      mib(sumOf(row)),
    ]);
}

function sumOf({ model, context, compute }: MemoryRow): Bytes {
  return model + context + compute;
}

function mib(bytes: Bytes): string {
  return (bytes / MIB).toFixed(1);
}
