import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExitVerdict } from '../../../src/engines/engine.js';
import { createLlamaServerEngine } from '../../../src/engines/llama-server/engine.js';
import { MIB } from '../../../src/scheduler/units.js';

const engine = createLlamaServerEngine({ binary: '/opt/llama-server', reason: 'a test' });

/** The verdict on a real child (llama.cpp v0.4.0) whose last lines were kept. */
function verdictOn(name: string, end: { exitCode?: number | null; signal?: string | null } = {}): ExitVerdict {
  const path = join(import.meta.dirname, '../../fixtures/llama-server/exits', `${name}.log`);
  const lastLines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return engine.classify({ exitCode: 1, signal: null, asked: false, lastLines, ...end });
}

describe('a child that found too little memory', () => {
  it.each([
    ['no-room-for-weights', 'CUDA0', 157681664],
    ['no-room-for-cache', 'CUDA1', 512 * MIB],
    ['no-room-for-compute', 'CUDA0', 41429120],
    ['no-room-for-a-context', 'CUDA0', 157681664],
    ['no-memory-for-weights', 'Host', 158042112],
    ['no-memory-for-cache', 'Host', 16777216000],
    ['no-memory-for-compute', 'Host', 44576800],
    ['no-memory-to-map', 'Host', null],
    ['nothing-free', null, null],
    ['nothing-free-on-two', null, null],
  ])('%s: on %s, having asked for %s bytes', (name, device, askedBytes) => {
    expect(verdictOn(name)).toMatchObject({ exitClass: 'out-of-memory', device, askedBytes });
  });

  it('for its kernels aborts, and says where', () => {
    const verdict = verdictOn('no-room-for-kernels', { exitCode: null, signal: 'SIGABRT' });
    expect(verdict).toMatchObject({ exitClass: 'out-of-memory', device: 'CUDA0', askedBytes: null });
  });

  it('for its kernels aborts, and may lose the lines that say so', () => {
    const lastLines = ['0.00.637.152 I cmn          init: llama threadpool init, n_threads = 2'];
    const aborted = { exitCode: null, signal: 'SIGABRT', asked: false } as const;
    const verdict = engine.classify({ ...aborted, lastLines });
    expect(verdict.exitClass, 'while it loads').toBe('out-of-memory');
    const up = [...lastLines, '0.00.700.000 I srv  llama_server: server is listening on http://127.0.0.1:1234'];
    expect(engine.classify({ ...aborted, lastLines: up }).exitClass, 'once it is up').toBe('crashed');
    expect(verdict.reason).toContain('most often since a device has no memory left');
  });
});

describe('a child that was given what it does not understand', () => {
  it.each([
    ['unknown-option', 'invalid argument: --bogus'],
    ['no-number', 'error while handling argument "-c": stoi'],
    ['unknown-device', 'error while handling argument "--device": invalid device: CUDA7'],
    [
      'unknown-choice',
      'error while handling argument "--flash-attn": error: unknown value for --flash-attn: \'maybe\'',
    ],
    ['unknown-cache-type', 'error while handling argument "-ctk": Unsupported cache type: q9'],
  ])('%s', (name, reason) => {
    expect(verdictOn(name)).toMatchObject({ exitClass: 'bad-arguments', reason });
  });
});

describe('a child that cannot read its model', () => {
  it.each([
    ['no-file', "failed to open GGUF file 'none.gguf' (No such file or directory)"],
    ['no-draft', "failed to open GGUF file 'none.gguf' (No such file or directory)"],
    ['truncated', "tensor 'blk.3.attn_q.weight' data is not within the file bounds, model is corrupted or incomplete"],
    ['header-cut', 'failed to read key-value pairs'],
    ['wrong-magic', "invalid magic characters: 'hell', expected 'GGUF'"],
    ['broken-projector', "invalid magic characters: 'hell', expected 'GGUF'"],
    ['empty-file', 'failed to read magic'],
    ['directory', 'failed to read magic'],
    ['unknown-architecture', "unknown model architecture: 'lxxma'"],
    ['newer-version', 'this GGUF file is version 9 but this software only supports up to version 3'],
  ])('%s', (name, reason) => {
    const verdict = verdictOn(name);
    expect(verdict.exitClass).toBe('unreadable-model');
    expect(verdict.reason).toContain(reason);
  });
});

describe('a child', () => {
  it('whose port was taken says so', () => {
    expect(verdictOn('port-in-use').exitClass).toBe('port-in-use');
  });

  it('that logs JSON is understood as well', () => {
    const msg = 'alloc_tensor_range: failed to allocate CUDA0 buffer of size 1048576\n';
    const lastLines = [JSON.stringify({ type: 'log', time: 5, level: 'error', msg })];
    const verdict = engine.classify({ exitCode: 1, signal: null, asked: false, lastLines });
    expect(verdict).toMatchObject({ exitClass: 'out-of-memory', device: 'CUDA0', askedBytes: MIB });
  });
});
