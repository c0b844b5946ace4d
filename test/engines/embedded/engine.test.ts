import { describe, expect, it } from 'vitest';
import { parseChildArguments } from '../../../src/engines/embedded/arguments.js';
import { createEmbeddedEngine } from '../../../src/engines/embedded/engine.js';
import type { ExitEvidence, Launch } from '../../../src/engines/engine.js';
import type { DeviceReading } from '../../../src/scheduler/events.js';
import { GIB } from '../../../src/scheduler/units.js';
import { engine, entryFor } from './embedded-child.js';

const launch = (devices: Launch['devices']): Launch => {
  return { entry: entryFor('/m/a.gguf'), port: 1234, devices, role: 'instance' };
};

describe('the command of a child', () => {
  it('puts what the router owns last, so that no entry can override it', () => {
    const { args } = engine.command({ ...launch(null), entry: entryFor('/m/a.gguf', { port: '1', host: '0.0.0.0' }) });
    const words = args.slice(args.indexOf('--model'));
    expect(parseChildArguments(words, {})).toMatchObject({
      modelPath: '/m/a.gguf',
      alias: 'test/model:small',
      host: '127.0.0.1',
      port: 1234,
      devices: [],
    });
  });

  it('shows a child the chosen devices only, in bus order', () => {
    const { args, env } = engine.command(launch(['CUDA1', 'CUDA3']));
    expect(args.slice(-2)).toEqual(['--device', 'CUDA1,CUDA3']);
    expect(env).toMatchObject({ CUDA_VISIBLE_DEVICES: '1,3', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' });
    const onHost = engine.command(launch(['Host']));
    expect(onHost.args.slice(-2)).toEqual(['--device', 'none']);
    expect(onHost.env).toMatchObject({ CUDA_VISIBLE_DEVICES: '-1' });
  });

  it('numbers devices as they are numbered for the supervisor, which may not see all of them itself', () => {
    const environment = { CUDA_VISIBLE_DEVICES: '4, GPU-5f3e' };
    const seesTwo = createEmbeddedEngine({ reason: 'test', environment });
    expect(seesTwo.command(launch(['CUDA1'])).env).toMatchObject({ CUDA_VISIBLE_DEVICES: 'GPU-5f3e' });
  });

  it('passes on the environment without secrets and with the role', () => {
    const environment = {
      PATH: '/bin',
      LLAMA_API_KEY: 'secret',
      LLAMA_ARG_API_KEY_FILE: 'secret',
      HF_TOKEN: 'secret',
      NODE_OPTIONS: '--inspect',
      LLAMA_ARG_CTX_SIZE: '512',
    };
    const { env } = createEmbeddedEngine({ reason: '', environment }).command(launch(null));
    expect(Object.values(env)).not.toContain('secret');
    expect(env).not.toHaveProperty('NODE_OPTIONS');
    expect(env).toMatchObject({ PATH: '/bin', LLAMA_ARG_CTX_SIZE: '512', LLAMA_SERVER_CHILD_ROLE: 'instance' });
    expect(env).toHaveProperty('LLAMA_SERVER_ROUTER_PORT');
  });
});

describe('the arguments of a child', () => {
  it('know every spelling of llama-server, and its variables where nothing is given', () => {
    const words = ['-m', 'a.gguf', '-c', '2048', '-np', '2', '-ngl', '0', '--no-mmap', '--temp=0.5', '-fa', 'on'];
    const args = parseChildArguments(words, { LLAMA_ARG_N_PARALLEL: '7', LLAMA_ARG_TOP_K: '3' });
    expect(args).toMatchObject({ modelPath: 'a.gguf', contextTokens: 2048, parallel: 2, gpuLayers: 0, mmap: false });
    expect(args.defaults).toMatchObject({ temperature: 0.5, topK: 3 });
    expect(args.notices).toEqual([expect.stringMatching(/^--flash-attn has no effect: .*the library chooses/u)]);
  });

  it.each([
    [[], /--model/u],
    [['-m'], /-m needs a value/u],
    [['-m', 'a', '--ctx-sise', '1'], /did you mean --ctx-size/u],
    [['-m', 'a', '-c', '1.5'], /'1.5'.*whole number/u],
    [['-m', 'a', 'stray'], /'stray'/u],
  ])('refuse %j in one sentence', (words, message) => {
    expect(() => parseChildArguments(words, {})).toThrow(message);
  });
});

describe('the estimate before anything was measured', () => {
  const gpu = (name: string, totalBytes: number): DeviceReading => {
    return { name, kind: 'discrete', description: '', totalBytes, usedBytes: 0, attributed: true };
  };
  const big = {
    ...entryFor('/m/a.gguf'),
    files: { shards: ['/m/a.gguf'], projector: null, draft: null, sizeBytes: 10 * GIB },
  };

  it('counts files, the cache and the process in system memory; the context is shared by all sequences', () => {
    const header = { ...HEADER, kvBytesPerToken: 1000 };
    const [one] = engine.estimate({ ...entryFor('/m/a', { parallel: '1' }), header, contextTokens: 2048 }, []);
    const [four] = engine.estimate({ ...entryFor('/m/a', { parallel: '4' }), header, contextTokens: 2048 }, []);
    const [free] = engine.estimate({ ...entryFor('/m/a'), header, contextTokens: null }, []);
    expect(four).toEqual(one);
    expect((free?.need['Host'] ?? 0) - (one?.need['Host'] ?? 0)).toBe(3 * 2048 * 1000);
    expect(one?.need['Host']).toBeGreaterThan(12_000_000 + 2048 * 1000);
  });

  it('prefers a single device that is large enough, then all of them, then system memory', () => {
    const placements = engine.estimate(big, [gpu('CUDA0', 24 * GIB), gpu('CUDA1', 8 * GIB)]);
    expect(placements.map(({ need }) => Object.keys(need))).toEqual([
      ['CUDA0', 'Host'],
      ['CUDA0', 'CUDA1', 'Host'],
      ['Host'],
    ]);
  });

  it('stays on the processor with no layers to offload, and needs nothing for an entry that is invalid', () => {
    const devices = [gpu('CUDA0', 24 * GIB)];
    const host = engine.estimate({ ...big, options: [{ name: 'n-gpu-layers', value: '0' }] }, devices);
    expect(host.map(({ need }) => Object.keys(need))).toEqual([['Host']]);
    expect(engine.estimate({ ...big, invalid: 'broken' }, devices)).toEqual([{ need: {}, quality: 'estimate' }]);
  });
});

describe('the verdict on a child that ended', () => {
  const ended = (evidence: Partial<ExitEvidence>): ExitEvidence => {
    return { exitCode: null, signal: null, asked: false, lastLines: [], ...evidence };
  };
  it('is what the child said of itself, with device and size', () => {
    const lastLines = ['failed (out-of-memory on CUDA1 asked 1024): Out of memory on CUDA1: too much', 'another line'];
    expect(engine.classify(ended({ exitCode: 1, lastLines }))).toEqual({
      exitClass: 'out-of-memory',
      reason: 'Out of memory on CUDA1: too much',
      device: 'CUDA1',
      askedBytes: 1024,
    });
  });

  it('is stopped when it was asked, killed or crashed when it was not', () => {
    expect(engine.classify(ended({ signal: 'SIGKILL', asked: true })).exitClass).toBe('stopped');
    expect(engine.classify(ended({ signal: 'SIGKILL' })).exitClass).toBe('killed');
    expect(engine.classify(ended({ signal: 'SIGSEGV' })).exitClass).toBe('crashed');
    expect(engine.classify(ended({ exitCode: 1, lastLines: ['failed (dancing): x'] })).exitClass).toBe('crashed');
  });
});

const HEADER = {
  architecture: 'llama',
  parameters: null,
  quantisation: null,
  trainedContextTokens: 2048,
  layers: 4,
  hasChatTemplate: true,
  isEmbeddingModel: false,
};
