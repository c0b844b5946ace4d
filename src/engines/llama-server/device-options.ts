import type { ChildOption } from '../../catalog/entry.js';
import { findOption, type OptionTable } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { Launch } from '../engine.js';

/**
 * A child takes a context on every device that it can see, unless it is told which to use; so a model that was placed
 * is told, and so are its draft and its projector, which llama.cpp would spread over every device, or put on the first.
 * An entry that names its devices itself keeps its word.
 */
export function deviceOptions(
  { entry, devices }: Pick<Launch, 'entry' | 'devices'>,
  table: OptionTable,
): readonly ChildOption[] {
  const says = (name: string): boolean => entry.options.some((option) => option.name === name);
  if (devices === null || says('device')) return [];
  const accelerators = devices.filter((name: DeviceName) => name !== 'Host');
  const all = accelerators.length === 0 ? 'none' : accelerators.join(',');
  const { draft = null, projector = null } = entry.files ?? {};
  const optional = (name: string, value: string): readonly ChildOption[] => {
    const spec = findOption(table, name)?.spec;
    return spec === undefined || says(spec.name) ? [] : [{ name: spec.name, value }];
  };
  return [
    { name: 'device', value: all },
    ...(draft === null ? [] : optional('device-draft', all)),
    ...(projector === null || says('mmproj-offload') ? [] : optional('mmproj-device', accelerators[0] ?? 'none')),
  ];
}

/** Accelerators that a child uses: those it is told, or that its entry names; null: all that it can see. */
export function devicesUsed({ entry, devices }: Pick<Launch, 'entry' | 'devices'>): readonly DeviceName[] | null {
  const named = entry.options.findLast(({ name }) => name === 'device')?.value;
  if (typeof named === 'string') return named.split(',').map((name) => name.trim());
  return devices === null ? null : devices.filter((name) => name !== 'Host');
}
