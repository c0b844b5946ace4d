import { describe, expect, it } from 'vitest';
import { judgeServing, type ChosenEngine, type GpusSeen } from '../../src/cli/doctor/serving.js';
import type { DeviceName } from '../../src/scheduler/units.js';

const EMBEDDED: ChosenEngine = { name: 'embedded' };
const CUDA: ChosenEngine = { name: 'llama-server', devices: ['CUDA0', 'CUDA1'] };
const VULKAN: ChosenEngine = { name: 'llama-server', devices: ['Vulkan0'] };
const BLIND: ChosenEngine = { name: 'llama-server', devices: [], blind: 'failed to initialize CUDA' };
const FOR_CPU: ChosenEngine = { name: 'llama-server', devices: [] };
const SAYS_NOTHING: ChosenEngine = { name: 'llama-server' };
const MEASURES: ChosenEngine = { name: 'llama-server', measureRole: true };

/** GPUs that were read; those that could not be; those that no probe can be had for. */
const gpus = (
  read: readonly DeviceName[],
  failing: readonly DeviceName[] = [],
  unasked: readonly DeviceName[] = [],
): GpusSeen => ({
  read,
  failures: [
    ...(failing.length === 0 ? [] : [{ devices: failing, message: 'nvml: Driver Not Loaded' }]),
    ...(unasked.length === 0 ? [] : [{ devices: unasked, message: 'nvidia: cannot be asked', lasting: true }]),
  ],
});
const NO_NAME: GpusSeen = { read: [], failures: [{ devices: [], message: 'nvml: Driver Not Loaded' }] };

describe('whether models can be served where the engine puts them', () => {
  it.each([
    ['any engine without a GPU: on the processor', EMBEDDED, gpus([])],
    ['any engine where nothing speaks for a GPU but words', CUDA, NO_NAME],
    ['no engine at all: that is said elsewhere', null, gpus([], ['CUDA0'])],
    ['llama-server with a GPU that is read', CUDA, gpus(['CUDA0', 'CUDA1'])],
    ['llama-server with one that is read beside one that is not', CUDA, gpus(['CUDA1'], ['CUDA0'])],
    ['the engine in the box likewise', EMBEDDED, gpus(['CUDA1'], ['CUDA0'])],
    ['llama-server built for the processor', FOR_CPU, gpus([], ['CUDA0'])],
    ['llama-server of another backend than the one that fails', VULKAN, gpus(['Vulkan0'], ['ROCm0'])],
    ['the engine in the box, which does not use such GPUs', EMBEDDED, gpus([], ['ROCm0'])],
    ['llama-server that says how large a GPU is that nobody can be asked about', CUDA, gpus([], [], ['CUDA0'])],
    ['llama-server whose measuring children say it', MEASURES, gpus([], [], ['CUDA0'])],
    ['the engine in the box, whose children say it', EMBEDDED, gpus([], [], ['CUDA0'])],
  ])('they can: %s', (_case, engine, seen) => {
    expect(judgeServing(engine, seen)).toBeNull();
  });

  it.each([
    [
      'llama-server, none of whose GPUs is read',
      CUDA,
      gpus([], ['CUDA0', 'CUDA1']),
      'llama-server puts models on CUDA0, CUDA1, and they',
    ],
    [
      'llama-server to which the driver shows none',
      BLIND,
      gpus([], ['CUDA0']),
      'llama-server puts models on CUDA0, and it',
    ],
    [
      'llama-server too old to say what it sees',
      SAYS_NOTHING,
      gpus([], ['CUDA0']),
      'llama-server puts models on CUDA0, and it',
    ],
    [
      'a GPU is read that llama-server does not use',
      CUDA,
      gpus(['ROCm0'], ['CUDA0']),
      'llama-server puts models on CUDA0, and it',
    ],
    ['the engine in the box', EMBEDDED, gpus([], ['CUDA0']), 'the engine in the box puts models on CUDA0, and it'],
    ['a size that nobody can tell', BLIND, gpus([], [], ['CUDA0']), 'llama-server puts models on CUDA0, and it'],
  ])('they cannot, but those for the processor can: %s', (_case, engine, seen, words) => {
    const finding = judgeServing(engine, seen);
    expect(finding).toMatchObject({ level: 'fail', stillServed: 'models for the processor' });
    expect(finding?.text).toContain(words);
    expect(finding?.fix).toContain('n-gpu-layers = 0');
  });
});
