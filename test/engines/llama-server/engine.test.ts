import { describe, expect, it } from 'vitest';
import { describeParentDeath } from '../../../native/parent-death.js';
import type { CatalogEntry } from '../../../src/catalog/entry.js';
import { createLlamaServerEngine } from '../../../src/engines/llama-server/engine.js';
import type { DeviceReading } from '../../../src/scheduler/events.js';
import { GIB, MIB } from '../../../src/scheduler/units.js';
import { simEntry } from '../../support/sim-world.js';

const environment = {
  PATH: '/usr/bin',
  HOME: '/home/me',
  LLAMA_API_KEY: 'secret',
  LLAMA_ARG_API_KEY: 'secret',
  LLAMA_ARG_API_KEY_FILE: '/secret',
  LLAMA_ARG_SSL_KEY_FILE: '/secret',
  LLAMA_ARG_MODELS_DIR: '/models',
  LLAMA_ARG_HOST: '0.0.0.0',
  LLAMA_ARG_PORT: '8080',
  LLAMA_ARG_N_GPU_LAYERS: '99',
  LLAMA_SERVER_CHILD_MODE: 'download',
  CUDA_DEVICE_ORDER: 'FASTEST_FIRST',
  UNSET: undefined,
};
const engine = createLlamaServerEngine({ binary: '/opt/llama-server', reason: 'a test', environment });

function entry(options: Readonly<Record<string, string>>, gigabytes = 8): CatalogEntry {
  return {
    ...simEntry('org/model:Q4', { model: '/m/a.gguf', ...options }),
    files: { shards: ['/m/a.gguf'], projector: null, draft: null, sizeBytes: gigabytes * GIB },
    contextTokens: options['ctx-size'] === undefined ? null : Number(options['ctx-size']),
    header: {
      architecture: 'llama',
      parameters: null,
      quantisation: null,
      trainedContextTokens: 131072,
      layers: 31,
      hasChatTemplate: true,
      kvBytesPerToken: 128 * 1024,
      isEmbeddingModel: false,
    },
  };
}

describe('the command of a llama-server child', () => {
  const command = (devices: readonly string[] | null, options: Readonly<Record<string, string>> = {}) => {
    return engine.command({ entry: entry(options), port: 5001, devices, role: 'instance' });
  };
  const own = (args: readonly string[]): readonly string[] => args.slice(args.indexOf('--model'));

  it('has the router’s address and name last, so that they count', () => {
    expect(own(command(null, { host: '0.0.0.0' }).args)).toEqual(
      '--model /m/a.gguf --host 0.0.0.0 --host 127.0.0.1 --port 5001 --alias org/model:Q4'.split(' '),
    );
  });

  it('names the devices that were chosen, and none where there is only system memory', () => {
    const unfitted = { fit: 'off' };
    expect(own(command(['CUDA1', 'Host'], unfitted).args).slice(-2)).toEqual(['--device', 'CUDA1']);
    expect(own(command(['CUDA0', 'CUDA1'], unfitted).args).slice(-2)).toEqual(['--device', 'CUDA0,CUDA1']);
    expect(own(command(['Host'], unfitted).args).slice(-2)).toEqual(['--device', 'none']);
    expect(
      own(command(['CUDA0'], { device: 'CUDA1' }).args).filter((argument) => argument === '--device'),
    ).toHaveLength(1);
  });

  it('has an environment without the router’s own, and devices in bus order', () => {
    expect(command(null).env).toEqual({
      PATH: '/usr/bin',
      HOME: '/home/me',
      LLAMA_ARG_N_GPU_LAYERS: '99',
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      LLAMA_SERVER_ROUTER_PORT: '5001',
      LLAMA_SERVER_CHILD_ROLE: 'instance',
    });
  });

  it('lets the kernel end it with its supervisor, where the kernel can', () => {
    const { file, args } = command(null);
    if (describeParentDeath().startsWith('A killed supervisor takes')) {
      expect([file, ...args].join(' ')).toMatch(/^\S*\/setpriv --pdeathsig KILL -- \/opt\/llama-server --model/);
    } else expect(file).toBe('/opt/llama-server');
  });
});

describe('what a model is expected to need', () => {
  const gpu = (name: string, gigabytes: number): DeviceReading => ({
    name,
    kind: 'discrete',
    description: '',
    totalBytes: gigabytes * GIB,
    usedBytes: 0,
    attributed: true,
  });
  const host: DeviceReading = { ...gpu('Host', 64), kind: 'host' };
  const gpus = [gpu('CUDA0', 24), gpu('CUDA1', 8), host];
  const needs = (options: Readonly<Record<string, string>>, devices = gpus) => {
    return engine.estimate(entry(options), devices).map(({ need }) => need);
  };
  const OVERHEAD = 512 * MIB;
  /** 8 GiB of files and 4096 tokens of cache. */
  const SIZE = 8 * GIB + 512 * MIB;

  it('is one GPU or all of them, in proportion to their memory', () => {
    expect(needs({})).toEqual([
      { CUDA0: SIZE + OVERHEAD },
      { CUDA1: SIZE + OVERHEAD },
      { CUDA0: SIZE * 0.75 + OVERHEAD, CUDA1: SIZE * 0.25 + OVERHEAD },
    ]);
  });

  it('grows with a pinned context, and shrinks with a quantised cache', () => {
    const [pinned] = needs({ 'ctx-size': '32768' }, [gpu('CUDA0', 24)]);
    expect(pinned).toEqual({ CUDA0: 12 * GIB + OVERHEAD });
    const [quantised] = needs({ 'ctx-size': '32768', 'cache-type-k': 'q8_0', 'cache-type-v': 'q8_0' }, [
      gpu('CUDA0', 24),
    ]);
    expect(quantised).toEqual({ CUDA0: 8 * GIB + 4 * GIB * (34 / 64) + OVERHEAD });
    const [trained] = needs({ 'ctx-size': '0' }, [gpu('CUDA0', 24)]);
    expect(trained).toEqual({ CUDA0: 24 * GIB + OVERHEAD });
  });

  it.each([
    ['no GPU', {}, [host]],
    ['no layers for them', { 'n-gpu-layers': '0' }, gpus],
    ['no device wanted', { device: 'none' }, gpus],
  ])('is system memory with %s', (_case, options, devices) => {
    expect(needs(options, devices)).toEqual([{ Host: SIZE + 256 * MIB }]);
  });

  it('is shared with system memory when only some layers go to the GPU', () => {
    const [half] = needs({ 'n-gpu-layers': '16' }, [gpu('CUDA0', 24), host]);
    expect(half).toEqual({ CUDA0: SIZE / 2 + OVERHEAD, Host: SIZE / 2 + 256 * MIB });
  });

  it.each([
    [{ device: 'CUDA1' }, [{ CUDA1: SIZE + OVERHEAD }]],
    [{ device: 'CUDA1,CUDA0' }, [{ CUDA1: SIZE * 0.25 + OVERHEAD, CUDA0: SIZE * 0.75 + OVERHEAD }]],
    [{ 'split-mode': 'none' }, [{ CUDA0: SIZE + OVERHEAD }, { CUDA1: SIZE + OVERHEAD }]],
    [{ device: 'CUDA0,CUDA1', 'split-mode': 'none', 'main-gpu': '1' }, [{ CUDA1: SIZE + OVERHEAD }]],
    [{ 'split-mode': 'none', 'main-gpu': '1' }, [{ CUDA1: SIZE + OVERHEAD }]],
    [{ 'tensor-split': '1,1' }, [{ CUDA0: SIZE / 2 + OVERHEAD, CUDA1: SIZE / 2 + OVERHEAD }]],
    [{ 'tensor-split': '0,1' }, [{ CUDA1: SIZE + OVERHEAD }]],
  ])('is what the entry itself says: %o', (options, expected) => {
    expect(needs(options)).toEqual(expected);
  });

  it('is for devices that the binary can use: none of a CPU build’s, and not to be told of strange ones', () => {
    const needsWith = (devices: readonly string[]) => {
      const own = createLlamaServerEngine({ binary: '/opt/llama-server', reason: 'a test', devices });
      return own.estimate(entry({}), gpus).map(({ need }) => need);
    };
    expect(needsWith([])).toEqual([{ Host: SIZE + 256 * MIB }]);
    expect(needsWith(['CUDA1'])).toEqual([{ CUDA1: SIZE + OVERHEAD }]);
    expect(needsWith(['Vulkan0'])).toEqual([{}]);
  });

  it('counts a GPU that could never be read as large enough, and as large as any other', () => {
    const unread = gpus.map((gpu) => ({ ...gpu, totalBytes: gpu.kind === 'host' ? gpu.totalBytes : 0 }));
    expect(engine.estimate(entry({}), unread).map(({ need }) => need)).toEqual([
      { CUDA0: SIZE + OVERHEAD },
      { CUDA1: SIZE + OVERHEAD },
      { CUDA0: SIZE / 2 + OVERHEAD, CUDA1: SIZE / 2 + OVERHEAD },
    ]);
    expect(engine.estimate(entry({ 'n-gpu-layers': '0' }), unread).map(({ need }) => Object.keys(need))).toEqual([
      ['Host'],
    ]);
  });

  it('is for a GPU that a driver hides from the binary too, until it can be read', () => {
    const blind = 'ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected';
    const own = createLlamaServerEngine({ binary: '/opt/llama-server', reason: 'a test', devices: [], blind });
    const usedOf = (devices: readonly DeviceReading[]): readonly string[][] =>
      own.estimate(entry({}), devices).map(({ need }) => Object.keys(need));
    expect(usedOf(gpus.map((gpu) => ({ ...gpu, totalBytes: 0 })))).toEqual([['CUDA0'], ['CUDA1'], ['CUDA0', 'CUDA1']]);
    expect(usedOf(gpus)).toEqual([['Host']]);
  });

  it('cannot be told where remote devices share in it, unless the entry leaves them out', () => {
    expect(needs({ rpc: '10.0.0.2:50052' })).toEqual([{}]);
    expect(needs({ rpc: '10.0.0.2:50052', device: 'RPC0,CUDA0' })).toEqual([{}]);
    expect(needs({ rpc: '10.0.0.2:50052', device: 'CUDA1' })).toEqual([{ CUDA1: SIZE + OVERHEAD }]);
  });

  it('is nothing for an entry without files', () => {
    expect(engine.estimate({ ...entry({}), files: null }, gpus)).toEqual([{ need: {}, quality: 'estimate' }]);
  });
});
