import { describe, expect, it } from 'vitest';
import { classifyExit } from '../../src/engines/classify-exit.js';
import type { ExitEvidence } from '../../src/engines/engine.js';
import { MIB } from '../../src/scheduler/units.js';

const after = (lastLines: readonly string[], end: Partial<ExitEvidence> = {}) => {
  return classifyExit({ exitCode: 1, signal: null, asked: false, lastLines, ...end });
};

describe('a load that runs out of memory', () => {
  it('is told by what llama.cpp with CUDA prints, not by what the layers above make of it', () => {
    const verdict = after([
      "0.00.020.684 I srv    load_model: loading model 'a.gguf'",
      '0.00.029.543 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 150.38 MiB on device 0: cudaMalloc failed: out of memory',
      '0.00.029.547 E alloc_tensor_range: failed to allocate CUDA0 buffer of size 157681664',
      '0.00.030.578 E llama_model_load: error loading model: unable to allocate CUDA0 buffer',
      '0.00.030.588 E llama_model_load_from_file_impl: failed to load model',
      "0.00.030.606 E srv    load_model: failed to load model, 'a.gguf'",
    ]);
    expect(verdict).toEqual({
      exitClass: 'out-of-memory',
      reason: 'out of memory on CUDA0: asked for 150 MiB',
      device: 'CUDA0',
      askedBytes: 157681664,
    });
  });

  it.each([
    [
      'HIP, whose buffers have its own name',
      [
        'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5120.00 MiB on device 1: cudaMalloc failed: out of memory',
        'alloc_tensor_range: failed to allocate ROCm1 buffer of size 5368709120',
      ],
      'ROCm1',
      5120 * MIB,
    ],
    [
      'Vulkan',
      [
        'ggml_vulkan: Device memory allocation of size 1073741824 failed.',
        'ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory',
        'alloc_tensor_range: failed to allocate Vulkan0 buffer of size 1073741824',
      ],
      'Vulkan0',
      1024 * MIB,
    ],
    ['system memory', ['alloc_tensor_range: failed to allocate CPU buffer of size 2097152'], 'Host', 2 * MIB],
    [
      'a kernel that finds no scratch',
      ['CUDA error: out of memory', '  current device: 1, in function alloc at ggml-cuda.cu:480'],
      'CUDA1',
      null,
    ],
    [
      'a split over a device with nothing free',
      ['terminate called: vector::_M_range_check: __n (which is 2)'],
      null,
      null,
    ],
  ])('is told for %s', (_case, lines, device, askedBytes) => {
    expect(after(lines)).toMatchObject({ exitClass: 'out-of-memory', device, askedBytes });
  });

  it('is not told by a warning alone', () => {
    const warning =
      '0.00.021.359 W ggml_backend_cuda_device_get_memory: cudaMemGetInfo failed (out of memory), returning 0/0';
    expect(after([warning]).exitClass).toBe('crashed');
  });

  it('has no size when the log’s number is nonsense', () => {
    const line = `failed to allocate CUDA0 buffer of size ${'9'.repeat(40)}`;
    expect(after([line])).toMatchObject({ exitClass: 'out-of-memory', askedBytes: null });
  });
});

describe('a child that ends', () => {
  it.each([
    [
      "0.00.026.916 E gguf_init_from_file: failed to open GGUF file 'none.gguf' (No such file or directory)",
      'unreadable-model',
      "failed to open GGUF file 'none.gguf' (No such file or directory)",
    ],
    [
      "0.00.021.682 E llama_model_load: error loading model: tensor 'blk.2.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete",
      'unreadable-model',
      "error loading model: tensor 'blk.2.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete",
    ],
    [
      "0.00.020.537 E gguf_init_from_reader: invalid magic characters: 'hell', expected 'GGUF'",
      'unreadable-model',
      "invalid magic characters: 'hell', expected 'GGUF'",
    ],
    [
      "error loading model: error loading model architecture: unknown model architecture: 'newest'",
      'unreadable-model',
      "error loading model: error loading model architecture: unknown model architecture: 'newest'",
    ],
    ['error: invalid argument: --bogus', 'bad-arguments', 'invalid argument: --bogus'],
    [
      "0.00.012.001 E srv  start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 35873",
      'port-in-use',
      "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 35873",
    ],
  ])('after %j is %s', (line, exitClass, reason) => {
    const generic = [
      '0.00.027.058 E llama_model_load_from_file_impl: failed to load model',
      "0.00.027.065 E srv    load_model: failed to load model, 'x.gguf'",
    ];
    const verdict = after(exitClass === 'unreadable-model' ? [line, ...generic] : [line]);
    expect(verdict).toEqual({ exitClass, reason, device: null, askedBytes: null });
  });

  it.each([
    ['because we asked', { asked: true, exitCode: 0 }, 'stopped', 'left when told to'],
    [
      'because we killed it',
      { asked: true, exitCode: null, signal: 'SIGKILL' },
      'stopped',
      'killed, since it did not leave when told to',
    ],
    ['by a stranger’s kill', { exitCode: null, signal: 'SIGKILL' }, 'killed', 'SIGKILL from outside'],
    ['by a crash', { exitCode: null, signal: 'SIGSEGV' }, 'crashed', 'crashed with SIGSEGV'],
    ['without a word', { exitCode: 3 }, 'crashed', 'exited with code 3'],
  ])('%s', (_case, end, exitClass, words) => {
    const verdict = after([], end);
    expect(verdict.exitClass).toBe(exitClass);
    expect(verdict.reason).toContain(words);
  });

  it('before it began says why', () => {
    const line = 'Could not start /x/llama-server: there is no such program. Check the path.';
    expect(after([line], { exitCode: null })).toMatchObject({ exitClass: 'crashed', reason: line });
  });

  it('is not taken for a failure that an earlier request had, once it was asked to stop', () => {
    expect(after(['E srv: failed to load model'], { asked: true, exitCode: 0 }).exitClass).toBe('stopped');
  });
});
