/**
 * What is read from each recorded output of nvidia-smi, beside what it was, and what doctor would advise where it is a
 * failure: `npm run devices:table [NAME…]`.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { adviceFor } from '../src/cli/doctor/driver-advice.js';
import { createNvidiaSmiProbe } from '../src/devices/nvidia/smi-probe.js';
import { deviceLines } from '../test/support/device-lines.js';
import { recordedSmi } from '../test/support/recorded-smi.js';

const FIXTURES = resolve(import.meta.dirname, '../test/fixtures/nvidia-smi');
/** The processes that are taken for ours: those of the recordings. */
const TREES = [{ model: 'ours', generation: 1, pids: [4242, 4243] }];

async function read(name: string, directory: string): Promise<void> {
  const { gpus = '', apps = '', script = null } = recordedSmi(name);
  const file = join(directory, 'nvidia-smi');
  writeFileSync(join(directory, 'gpus'), `${gpus}\n`);
  writeFileSync(join(directory, 'apps'), `${apps}\n`);
  const answer = `case "$1" in --query-gpu=*) cat '${directory}/gpus' ;; *) cat '${directory}/apps' ;; esac`;
  writeFileSync(file, `#!/bin/sh\n${script ?? answer}\n`);
  chmodSync(file, 0o755);
  console.log(`\n${name}`);
  for (const line of [gpus, apps].flatMap((text) => text.split('\n'))) if (line !== '') console.log(`  | ${line}`);
  const probe = createNvidiaSmiProbe({ file, pidsAreOurs: true, pciDirectory: '/nowhere', visibleDevices: undefined });
  try {
    for (const line of deviceLines(await probe.sample(TREES))) console.log(`  ${line}`);
  } catch (error) {
    const words = (error instanceof Error ? error.message : String(error)).replace(file, 'nvidia-smi');
    console.log(`  cannot be read: ${words}\n    fix: ${adviceFor(words)}`);
  }
}

const wanted = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'devices-table-'));
try {
  for (const name of readdirSync(FIXTURES))
    if (wanted.length === 0 || wanted.includes(name)) await read(name, directory);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
