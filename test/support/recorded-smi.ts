import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FakeNvidiaSmi } from './fake-nvidia-smi.js';

const FIXTURES = resolve(import.meta.dirname, '../fixtures/nvidia-smi');

/**
 * What an nvidia-smi said somewhere, to be said again: `gpus.txt` and `apps.txt` for the two questions that it is asked,
 * or `failure.txt`, which begins with its exit code.
 */
export function recordedSmi(name: string): FakeNvidiaSmi {
  const file = (part: string): string => join(FIXTURES, name, `${part}.txt`);
  const read = (part: string): string => readFileSync(file(part), 'utf8').trimEnd();
  if (!existsSync(file('failure'))) return { gpus: read('gpus'), apps: read('apps') };
  const code = /^exit (\d+)/u.exec(read('failure'))?.[1] ?? '1';
  return { script: `tail -n +2 '${file('failure')}'; exit ${code}` };
}
