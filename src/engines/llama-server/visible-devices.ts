import type { CatalogEntry } from '../../catalog/entry.js';
import { truthOf } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { Launch } from '../engine.js';
import { visibleIds } from '../visible-ids.js';

/** What a driver reads to know which devices a process may see, by ggml's name for its devices. */
const VARIABLES: Readonly<Record<string, string>> = {
  CUDA: 'CUDA_VISIBLE_DEVICES',
  ROCm: 'HIP_VISIBLE_DEVICES',
  MUSA: 'MUSA_VISIBLE_DEVICES',
};

/** Options that name devices, or count them: they are meant for the devices as they are. */
const ABOUT_DEVICES: ReadonlySet<string> = new Set([
  ...['device', 'device-draft', 'main-gpu', 'tensor-split', 'override-tensor', 'override-tensor-draft', 'rpc'],
  'mmproj-device',
]);

/** The devices that a child may see: what its environment says of them, and what it calls them. */
export interface VisibleDevices {
  readonly environment: Readonly<Record<string, string>>;
  /** The devices to use, by the child's names. */
  readonly devices: readonly DeviceName[];
  /** Our names of them, by the child's. */
  readonly names: Readonly<Record<DeviceName, DeviceName>>;
}

/**
 * How to show a child nothing but the devices that were chosen for it; null where that is not needed, or would change
 * what its options mean.
 *
 * With `--fit`, which is on by default, llama.cpp asks every device that it can see how much memory is free, whatever
 * `--device` says, and has a context of some hundred MiB on each from then on (seen with builds of 2026). What a child
 * cannot see it cannot ask; the devices that are left are numbered anew.
 *
 * @param known devices of the program, by its own names; null: unknown
 * @param environment this process's: the devices that it may see itself are numbered as it says
 */
export function visibleDevices(
  { entry, devices }: Pick<Launch, 'entry' | 'devices'>,
  known: readonly DeviceName[] | null,
  environment: Readonly<Record<string, string | undefined>>,
): VisibleDevices | null {
  if (devices === null || !fitsItself(entry) || entry.options.some(({ name }) => ABOUT_DEVICES.has(name))) return null;
  const chosen = devices.filter((name) => name !== 'Host');
  const all = [...new Set([...(known ?? []), ...chosen])];
  const kinds = new Set(all.map(kindOf).filter((kind) => kind !== null));
  if (kinds.size === 0) return null;

  const names: Record<DeviceName, DeviceName> = {};
  const variables: Record<string, string> = {};
  for (const kind of kinds) {
    const variable = VARIABLES[kind] ?? '';
    const numbers = chosen.filter((name) => kindOf(name) === kind).map((name) => Number(name.slice(kind.length)));
    const ids = visibleIds(numbers, environment[variable]);
    if (ids === null) return null;
    variables[variable] = ids;
    numbers.forEach((number, index) => (names[`${kind}${index}`] = `${kind}${number}`));
  }
  const childNames = new Map(Object.entries(names).map(([child, ours]) => [ours, child]));
  return { environment: variables, devices: chosen.map((name) => childNames.get(name) ?? name), names };
}

/** True for an entry whose child looks at the memory of every device that it can see. */
export function fitsItself(entry: Pick<CatalogEntry, 'options'>): boolean {
  const said = entry.options.findLast(({ name }) => name === 'fit')?.value;
  return (typeof said === 'boolean' ? said : truthOf(said ?? 'on')) !== false;
}

function kindOf(name: DeviceName): string | null {
  const kind = /^(CUDA|ROCm|MUSA)\d+$/.exec(name)?.[1];
  return kind ?? null;
}
