/**
 * What a supervisor costs while it has nothing to do: `npm run bench:rest -- [--seconds 30]`. One model is loaded and
 * idle, two GPUs are looked at by NVML, nobody follows; then the same with somebody who follows. Needs the emulated GPUs
 * (see test/real/rig.ts). Exit code 1 over the budget: 1 % of a core, 120 MB, without the child that reads NVML, which is
 * shown beside it.
 */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectSupervisor } from '../src/client/supervisor-client.js';
import { during } from '../test/real/during.js';
import { ask } from '../test/real/clients.js';
import { Machine } from '../test/real/machine.js';
import { findRig } from '../test/real/rig.js';
import { PINNED, Supervised } from '../test/real/supervised.js';
import { cpuSeconds, residentBytes } from '../test/support/process-cost.js';
import { execa } from 'execa';

const CPU_BUDGET_SHARE = 0.01;
const MEMORY_BUDGET_BYTES = 120e6;
/** A young child is looked at more closely for a while. */
const SETTLING_MILLIS = 15_000;

interface Cost {
  readonly cpuShare: number;
  readonly residentBytes: number;
}

/** Its child that reads NVML; null where there is none. */
function nvmlReaderOf(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('nvml-host')) ?? null;
}

async function measure(pids: readonly number[], seconds: number): Promise<readonly Cost[]> {
  const before = pids.map(cpuSeconds);
  await delay(seconds * 1000);
  return pids.map((pid, index) => ({
    cpuShare: (cpuSeconds(pid) - (before[index] ?? 0)) / seconds,
    residentBytes: residentBytes(pid),
  }));
}

function say(what: string, { cpuShare, residentBytes: bytes }: Cost): void {
  const figures = [
    `${(cpuShare * 100).toFixed(2)} % of a core`.padStart(16),
    `${(bytes / 1e6).toFixed(0)} MB`.padStart(7),
  ];
  console.log(`${what.padEnd(40)} ${figures.join(' ')}`);
}

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '30' } } });
const seconds = Number(values.seconds);
const rig = findRig();

await during(new Machine(rig, [600, 600]), async (machine) => {
  const models = join(machine.directory, 'models');
  await mkdir(models);
  await execa(process.execPath, [rig.modelWriter, join(models, 'ant.gguf'), '150', '--seed', '1']);
  await during(await Supervised.start(machine, models, ...PINNED), async (supervised) => {
    const pid = supervised.process.pid ?? 0;
    const failure = await ask(supervised.url, 'ant');
    if (failure !== null) throw new Error(failure);
    supervised.stopFollowing();
    await delay(SETTLING_MILLIS);
    const reader = nvmlReaderOf(pid);
    const [alone, nvml] = await measure([pid, ...(reader === null ? [] : [reader])], seconds);
    const client = connectSupervisor({ url: supervised.url });
    client.subscribe(() => undefined);
    await delay(SETTLING_MILLIS);
    const [followed] = await measure([pid], seconds);
    client.close();
    if (alone === undefined || followed === undefined) return;
    say('serve, one idle model', alone);
    if (nvml !== undefined) say('its child that reads NVML', nvml);
    say('serve, one idle model, one follower', followed);
    const isOver = alone.cpuShare > CPU_BUDGET_SHARE || alone.residentBytes > MEMORY_BUDGET_BYTES;
    console.log(isOver ? 'over the budget of 1 % and 120 MB' : 'within the budget of 1 % and 120 MB');
    process.exitCode = isOver ? 1 : 0;
  });
});
