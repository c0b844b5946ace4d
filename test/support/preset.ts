import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './serving.js';

/** Writes a preset with the given sections; returns its path. */
export function writePreset(sections: Readonly<Record<string, Readonly<Record<string, string | number>>>>): string {
  const path = join(temporaryDirectory(), 'models.ini');
  const text = Object.entries(sections).map(([name, keys]) =>
    [`[${name}]`, ...Object.entries(keys).map(([key, value]) => `${key} = ${value}`), ''].join('\n'),
  );
  writeFileSync(path, text.join('\n'));
  return path;
}

/** Arguments that serve simulated models on simulated devices. */
export function simulated(
  devices: string,
  sections: Parameters<typeof writePreset>[0],
): readonly [string, string, string, string, string, string] {
  return ['--engine', 'sim', '--sim-devices', devices, '--models-preset', writePreset(sections)];
}
