import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createNvmlProbe, type NvmlProbeOptions } from '../../src/devices/nvidia/nvml-probe.js';
import type { DeviceProbe } from '../../src/devices/probe.js';
import { MIB } from '../../src/scheduler/units.js';
import { isRunning, until } from '../support/until.js';

/** Where an emulated driver is: a `libnvidia-ml.so.1` and an `emu-ctl` over one ledger of memory. */
const RIG = process.env['LLM_TUI_RIG'] ?? join(homedir(), '.cache', 'llm-tui', 'gpu-rig');
const LEDGER = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `llm-tui-nvml-${process.pid}.bin`);
const HOST_PROGRAM = join(import.meta.dirname, '../../dist/src/devices/nvidia/nvml-host.js');

const control = (...args: readonly string[]): void => void execFileSync(join(RIG, 'bin', 'emu-ctl'), args);

/** A process that holds so many MiB of a GPU. */
function hog(gpu: number, mib: number, ...flags: readonly string[]): number {
  const child = spawn(join(RIG, 'bin', 'emu-ctl'), ['hog', String(gpu), String(mib), ...flags], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.pid ?? 0;
}

function probe(options: NvmlProbeOptions = {}): DeviceProbe {
  const one = createNvmlProbe({ pidsAreOurs: true, visibleDevices: undefined, ...options });
  onTestFinished(() => one.close());
  return one;
}

describe.runIf(existsSync(join(RIG, 'lib', 'libnvidia-ml.so.1')))('NVML, loaded from a library', () => {
  beforeAll(() => {
    vi.stubEnv('LD_LIBRARY_PATH', join(RIG, 'lib'));
    vi.stubEnv('EMU_LEDGER', LEDGER);
    vi.stubEnv('EMU_GPUS', '600,700');
  });
  afterEach(() => control('fault', 'clear'));
  afterAll(() => {
    vi.unstubAllEnvs();
    for (const file of [LEDGER, `${LEDGER}.fault`]) rmSync(file, { force: true });
  });

  it('tells what is there, what ours hold, and who else holds something', async () => {
    const [ours, other] = [hog(0, 100), hog(0, 150)];
    const one = probe();
    const trees = [{ model: 'a', generation: 1, pids: [ours] }];
    const { devices, instances } = await until('both hold their memory', async () => {
      const sample = await one.sample(trees);
      return sample.devices[0]?.usedBytes === 250 * MIB && sample;
    });
    expect(devices.map(({ name, totalBytes }) => [name, totalBytes / MIB])).toEqual([
      ['CUDA0', 600],
      ['CUDA1', 700],
    ]);
    expect(instances).toEqual([{ model: 'a', generation: 1, resident: { CUDA0: 100 * MIB, CUDA1: 0 } }]);
    expect(devices[0]?.foreign).toEqual([{ pid: other, name: 'emu-ctl', bytes: 150 * MIB }]);
  });

  it('counts memory of nobody as used', async () => {
    hog(1, 80, '--hidden');
    const one = probe();
    const used = await until('it is held', async () => (await one.sample([])).devices[1]?.usedBytes);
    expect(used).toBe(80 * MIB);
  });

  it.each([
    ['nvmlInit* error 18', 'Driver/library version mismatch (nvmlInit_v2, code 18)'],
    ['nvmlDeviceGetCount* error 9', 'Driver Not Loaded (nvmlDeviceGetCount_v2, code 9)'],
    ['nvmlDeviceGetMemoryInfo* hang 60', 'NVML does not answer; the driver hangs, or is very slow.'],
    ['nvmlInit* hang 60', 'NVML does not answer; the driver hangs, or is very slow.'],
  ])('says what the driver says of "%s", and is well again by itself', async (fault, words) => {
    const one = probe({ limits: { limitMillis: 500, startLimitMillis: 2000, pauseMillis: 1 } });
    control('fault', fault);
    await expect(one.sample([])).rejects.toThrow(words);
    control('fault', 'clear');
    const sample = await until('it answers', () => one.sample([]).catch(() => null));
    expect(sample.devices).toHaveLength(2);
  });

  it('loses one GPU only when one is lost', async () => {
    const one = probe();
    await one.sample([]);
    control('fault', 'nvmlDevice*@1 error 15');
    const { devices, failures } = await one.sample([]);
    expect(devices.map(({ name }) => name)).toEqual(['CUDA0']);
    expect(failures).toEqual([{ devices: ['CUDA1'], message: expect.stringContaining('GPU is lost') as string }]);
  });

  it('attributes nothing where the memory of processes is not available', async () => {
    const ours = hog(0, 100);
    control('fault', 'nvmlDeviceGet*RunningProcesses* na');
    const one = probe();
    const device = await until('it is held', async () => {
      const { devices } = await one.sample([{ model: 'a', generation: 1, pids: [ours] }]);
      return devices[0]?.usedBytes === 100 * MIB && devices[0];
    });
    expect(device).toMatchObject({ attributed: false, remark: 'the driver does not tell what each process holds' });
  });

  it.runIf(process.platform === 'linux')('ends with its parent, also while it hangs', async () => {
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const c = require('node:child_process').spawn(process.execPath, [${JSON.stringify(HOST_PROGRAM)}], { stdio: ['pipe', 'inherit', 'inherit'] }); c.stdin.write('\\n'); console.log(c.pid); setInterval(() => c.stdin.write('\\n'), 100)`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void parent.kill('SIGKILL'));
    let output = '';
    parent.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until('it reads', () => output.includes('"gpus"'));
    const host = Number(/^\d+/m.exec(output)?.[0]);
    control('fault', 'nvmlDeviceGetCount* hang 60');
    const before = await until('it hangs', () => {
      const answers = output.length;
      return new Promise<number | null>((resolve) =>
        setTimeout(() => resolve(answers === output.length ? answers : null), 500),
      );
    });
    expect([isRunning(host), before > 0]).toEqual([true, true]);
    parent.kill('SIGKILL');
    await until('it is gone', () => !isRunning(host));
  });

  it('leaves nobody waiting in a process that only wanted to look', async () => {
    control('fault', 'nvmlDeviceGetMemoryInfo* hang 60');
    const script = `import { createNvmlProbe } from ${JSON.stringify(join(import.meta.dirname, '../../dist/src/devices/nvidia/nvml-probe.js'))};
      const one = createNvmlProbe({ limits: { limitMillis: 300, startLimitMillis: 300 } });
      await one.sample([]).catch((error) => console.log(error.message));
      one.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    expect(stdout).toContain('NVML does not answer');
  });
});
