import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStartTime } from '../../src/devices/process-start.js';
import { writeExternal, writeHolding } from '../../src/devices/sim-ledger.js';
import { createSimProbe } from '../../src/devices/sim-probe.js';

const devices = [{ name: 'CUDA0', totalBytes: 1000 }];
const ledger = (): string => mkdtempSync(join(tmpdir(), 'sim-ledger-'));
const alive = { pid: process.pid, startTime: readStartTime(process.pid) ?? null };

describe('the simulated devices', () => {
  it('are empty before anything was written, even without a directory', async () => {
    const probe = createSimProbe({ devices, ledgerDirectory: '/nowhere/at/all' });
    expect(await probe.sample([])).toEqual({
      devices: [
        {
          name: 'CUDA0',
          kind: 'discrete',
          description: 'simulated device',
          totalBytes: 1000,
          usedBytes: 0,
          attributed: true,
          source: 'sim',
        },
      ],
      instances: [],
    });
  });

  it('hold what processes and others hold, but never more than there is', async () => {
    const ledgerDirectory = ledger();
    const probe = createSimProbe({ devices, ledgerDirectory });
    writeHolding(ledgerDirectory, { ...alive, devices: { CUDA0: 300, Vulkan0: 5 } });
    writeExternal(ledgerDirectory, { CUDA0: 200 });
    expect((await probe.sample([])).devices[0]?.usedBytes).toBe(500);
    writeExternal(ledgerDirectory, { CUDA0: 2000 });
    expect((await probe.sample([])).devices[0]?.usedBytes).toBe(1000);
  });

  it('pass over files that are no entries', async () => {
    const ledgerDirectory = ledger();
    for (const [name, text] of [
      ['1.json', '{"pid":1,"dev'],
      ['2.json', '[]'],
      ['external.json', '{"CUDA0":-5,"CUDA1":"x"}'],
      ['3.json', '{"pid":-1,"devices":{"CUDA0":5}}'],
      ['notes.txt', 'hello'],
    ] as const) {
      writeFileSync(join(ledgerDirectory, name), text);
    }
    expect((await createSimProbe({ devices, ledgerDirectory }).sample([])).devices[0]?.usedBytes).toBe(0);
  });

  it('take a process with the pid of another for what it is: gone', async () => {
    const ledgerDirectory = ledger();
    const probe = createSimProbe({ devices, ledgerDirectory, releaseMillis: 0 });
    writeHolding(ledgerDirectory, { pid: process.pid, startTime: '1', devices: { CUDA0: 300 } });
    expect((await probe.sample([])).devices[0]?.usedBytes).toBe(process.platform === 'linux' ? 0 : 300);
    expect(readdirSync(ledgerDirectory)).toHaveLength(process.platform === 'linux' ? 0 : 1);
  });
});
