import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Snapshot } from '../../src/client/types.js';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { writePreset } from '../support/preset.js';
import { runProgram, serveIn, temporaryDirectory, type Served } from '../support/serving.js';
import { tempTree } from '../support/temp-tree.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const FAKE_SERVER = resolve(import.meta.dirname, '../support/fake-llama-server.js');
const MISMATCH = 'Failed to initialize NVML: Driver/library version mismatch';
const GPU = 'GPU-a, 00000000:01:00.0, NVIDIA GeForce RTX 3090, 24576, 9000, 15200, [N/A]';
const hasDriver = existsSync('/proc/driver/nvidia') || process.platform === 'win32';

interface Broken {
  readonly served: Served;
  readonly mend: () => void;
  readonly breakAgain: () => void;
}

/** A machine whose nvidia-smi fails until it is told that the driver is back. */
async function serveBroken(): Promise<Broken> {
  const { file } = fakeNvidiaSmi({
    gpus: GPU,
    script: `[ -e "$here/mended" ] || { echo '${MISMATCH}'; exit 18; }
      case "$1" in --query-gpu=*) cat "$here/gpus" ;; --query-compute-apps=*) ;; *) exit 2 ;; esac`,
  });
  const model = join(tempTree({ 'a.gguf': tinyGguf() }), 'a.gguf');
  const preset = writePreset({ gpu: { model }, cpu: { model, 'n-gpu-layers': '0' } });
  const environment = { PATH: `${dirname(file)}:${process.env['PATH'] ?? ''}` };
  const args = ['--llama-server', FAKE_SERVER, '--models-preset', preset];
  const served = await serveIn(temporaryDirectory(), args, environment);
  onTestFinished(() => served[Symbol.asyncDispose]());
  const mended = join(dirname(file), 'mended');
  return { served, mend: () => writeFileSync(mended, ''), breakAgain: () => rmSync(mended) };
}

describe.skipIf(hasDriver)('a driver that fails when the program starts', () => {
  it('keeps models off its GPUs until they can be read, and nothing from the processor', async () => {
    const { served, mend } = await serveBroken();
    const ask = (model: string): Promise<Response> => served.post('/v1/chat/completions', { model });
    const answer = ask('gpu');
    const { why } = await served.until('it waits', ({ queue }) => queue.find(({ model }) => model === 'gpu'));
    expect(why).toBe(`gpu: CUDA0 cannot be read, so nobody knows what is free there: nvidia-smi: ${MISMATCH}`);
    expect((await ask('cpu')).status).toBe(200);
    mend();
    expect((await answer).status).toBe(200);
    const { models, devices, decisions } = await served.snapshot();
    expect(models.find(({ id }) => id === 'gpu')?.devices).toContain('CUDA0');
    expect(devices.map(({ name, kind }) => [name, kind])).toEqual([
      ['CUDA0', 'discrete'],
      ['Host', 'host'],
    ]);
    expect(decisions.find(({ kind, model }) => kind === 'admit' && model === 'gpu')?.ledger[0]?.device).toBe('CUDA0');
  });

  it('has a row wherever devices are listed, without a figure, until they can be read; then they are an old one', async () => {
    const { served, mend, breakAgain } = await serveBroken();
    const ps = async (...args: string[]): Promise<string> =>
      (await runProgram(['ps', '--state-dir', served.stateDirectory, ...args], served.directory)).stdout;
    const text = await ps();
    expect(text).toMatch(/^CUDA0 +- +- +- +- +- +unread \d+s$/mu);
    expect(text).toContain(`CUDA0 cannot be read: nvidia-smi: ${MISMATCH}`);
    expect(text).toMatch(/^Host .* GiB$/mu);
    const [gpu] = (JSON.parse(await ps('--json')) as Snapshot).devices;
    expect(gpu).toMatchObject({ name: 'CUDA0', totalBytes: null, freeBytes: null, problem: `nvidia-smi: ${MISMATCH}` });
    const metrics = await (await fetch(`${served.url}/supervisor/metrics`)).text();
    expect(metrics).toContain('llm_tui_device_unreadable{device="CUDA0"} 1');
    expect(metrics).not.toMatch(/llm_tui_device_memory\w*\{device="CUDA0"/u);

    mend();
    await served.until('it is read', ({ devices }) => devices.some(({ kind }) => kind === 'discrete'));
    expect(await ps()).toMatch(/^CUDA0 +0\.0 +0\.0 +9\.2 +14\.8 +24\.0 GiB$/mu);
    breakAgain();
    await served.until('it fails again', ({ devices }) => devices.some(({ problem }) => problem !== null));
    expect(await ps()).toMatch(/^CUDA0 .* 24\.0 GiB +stale \d+s$/mu);
  });
});
