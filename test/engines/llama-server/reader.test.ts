import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLlamaServerReader } from '../../../src/engines/llama-server/reader.js';
import { reportsOf } from '../../../src/engines/memory-table.js';
import type { ChildMessage } from '../../../src/engines/messages.js';
import { MIB, type DeviceBytes } from '../../../src/scheduler/units.js';

/** Logs of real children (llama.cpp v0.4.0 on two emulated devices of 600 MiB), only the lines that matter here. */
const recorded = (name: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, '../../fixtures/llama-server/memory', `${name}.log`), 'utf8').split('\n');

const READY = 'cmd_child_to_router:state:{"state":"ready","payload":{"id":"a","meta":{"n_ctx":2048}}}';
const SLEEPING = 'cmd_child_to_router:state:{"state":"sleeping","payload":null}';

type Ready = Extract<ChildMessage, { type: 'ready' }>;

/** What a child that logs these lines is understood to say when it is ready. */
function readyAfter(log: readonly string[], ready = READY): Ready {
  const reader = createLlamaServerReader();
  for (const line of log) expect(reader.read(line, 'stderr')).toBeNull();
  const message = reader.read(ready, 'stdout');
  if (message?.type !== 'ready') throw new Error('it was ready');
  return message;
}

const inMib = (amounts: DeviceBytes | null): DeviceBytes =>
  Object.fromEntries(Object.entries(amounts ?? {}).map(([name, bytes]) => [name, Number((bytes / MIB).toFixed(2))]));

describe('what a child holds is added up from the lines in which it logs its buffers', () => {
  it.each([
    ['one-device', { CUDA0: 205.89, Host: 4.36 }],
    ['two-devices', { CUDA0: 153.31, CUDA1: 112.15, Host: 10.4 }],
    ['no-device', { Host: 207.24 }],
    ['fitted-context', { CUDA0: 153.4, CUDA1: 341.63, Host: 36.86 }],
    ['fitted-layers', { CUDA0: 304.57, CUDA1: 361.24, Host: 464.07 }],
    ['quantised-cache', { CUDA0: 197.43, Host: 4.39 }],
    ['draft-model', { CUDA0: 238.76, CUDA1: 42.22, Host: 9.76 }],
    ['half-offloaded', { CUDA0: 109.36, Host: 108.48 }],
  ])('%s', (name, expected) => {
    const { effective, memory, contextTokens } = readyAfter(recorded(name));
    expect(inMib(effective)).toEqual(expected);
    expect([memory?.n_ctx, contextTokens]).toEqual([2048, 2048]);
  });

  it('with weights, cache and compute buffers apart, and what the device has free then', () => {
    const { memory } = readyAfter(recorded('one-device'));
    expect(memory?.devices.find(({ name }) => name === 'CUDA0')).toEqual({
      kind: 'device',
      name: 'CUDA0',
      total: 600 * MIB,
      free: 400 * MIB - Math.round(150.38 * MIB) - 16 * MIB - Math.round(39.51 * MIB),
      model: Math.round(150.38 * MIB),
      context: 16 * MIB,
      compute: Math.round(39.51 * MIB),
    });
  });

  it('once, also when it has slept and is awake again', () => {
    const log = recorded('asleep-and-awake');
    const sleeps = log.findIndex((line) => line.includes('exiting sleeping state'));
    const reader = createLlamaServerReader();
    const read = (lines: readonly string[]): void => lines.forEach((line) => reader.read(line, 'stderr'));
    read(log.slice(0, sleeps));
    const first = reader.read(READY, 'stdout') as Ready;
    reader.read(SLEEPING, 'stdout');
    read(log.slice(sleeps));
    const second = reader.read('cmd_child_to_router:state:{"state":"ready","payload":null}', 'stdout') as Ready;
    expect(second.effective).toEqual(first.effective);
    expect(reportsOf(second.memory ?? { n_ctx: 0, devices: [] })).toEqual(
      reportsOf(first.memory ?? { n_ctx: 0, devices: [] }),
    );
  });

  it('from either stream, and from a log of JSON', () => {
    const reader = createLlamaServerReader();
    const line = 'load_tensors:        CUDA0 model buffer size =   150.00 MiB\n';
    expect(reader.read(JSON.stringify({ type: 'log', time: 1, level: 'info', msg: line }), 'stdout')).toBeNull();
    expect(inMib((reader.read(READY, 'stdout') as Ready).effective)).toEqual({ CUDA0: 150 });
  });

  it('as nothing, where it logs none', () => {
    expect(readyAfter(['srv  llama_server: model loaded'])).toEqual({
      type: 'ready',
      contextTokens: 2048,
      effective: null,
      meta: { n_ctx: 2048 },
    });
  });
});

describe('a model that is read several times', () => {
  const weights = (mib: number, name = 'CUDA0'): string => `load_tensors:  ${name} model buffer size = ${mib}.00 MiB`;
  const cache = (mib: number): string => `llama_kv_cache:      CUDA0 KV buffer size =    ${mib}.00 MiB`;
  const compute = (mib: number): string => `sched_reserve:      CUDA0 compute buffer size =    ${mib}.00 MiB`;
  const header = (path: string): string =>
    `llama_model_loader: loaded meta data with 20 key-value pairs and 75 tensors from ${path} (version GGUF V3 (latest))`;
  const context = 'llama_context: constructing llama_context';
  const bytesAfter = (...log: readonly string[]): DeviceBytes => inMib(readyAfter(log).effective);

  it('counts as it was read last', () => {
    const first = [header('a.gguf'), weights(900), cache(90), compute(9)];
    const second = [header('a.gguf'), weights(100), cache(10), compute(1)];
    expect(bytesAfter(...first, ...second)).toEqual({ CUDA0: 111 });
  });

  it('counts as it was read last, also where the log does not name the file', () => {
    expect(bytesAfter(weights(900), cache(90), compute(9), weights(100), cache(10), compute(1))).toEqual({
      CUDA0: 111,
    });
  });

  it('counts without its trials, where the log says which they are', () => {
    const trial = [header('a.gguf'), 'print_info: no_alloc              = 1', weights(900), cache(90)];
    const real = [header('a.gguf'), 'print_info: no_alloc              = 0', weights(100), cache(10)];
    expect(bytesAfter(...trial, ...trial, ...real)).toEqual({ CUDA0: 110 });
    // A head of the same file that predicts tokens is a model of its own.
    expect(bytesAfter(...trial, ...real, ...real)).toEqual({ CUDA0: 220 });
  });

  it('has weights of every shard, and every cache of several', () => {
    expect(bytesAfter(header('a.gguf'), weights(100), weights(50), context, cache(8), cache(4), compute(1))).toEqual({
      CUDA0: 163,
    });
  });

  it('has the compute buffers that it made last, for each of its contexts', () => {
    const log = [header('a.gguf'), weights(100), context, compute(9), compute(10), context, compute(1)];
    expect(bytesAfter(...log)).toEqual({ CUDA0: 111 });
  });
});

describe('buffers are counted where they are', () => {
  it.each([
    ['CPU', 'Host'],
    ['CPU_Mapped', 'Host'],
    ['CPU_REPACK', 'Host'],
    ['CUDA_Host', 'Host'],
    ['BLAS', 'Host'],
    ['ROCm1', 'ROCm1'],
    ['Vulkan0', 'Vulkan0'],
    ['RPC0[10.0.0.2:50052]', 'RPC0'],
  ])('%s on %s', (name, device) => {
    expect(inMib(readyAfter([`load_tensors: ${name} model buffer size = 5.00 MiB`]).effective)).toEqual({
      [device]: 5,
    });
  });

  it('a recurrent state is counted as context, a projector as weights', () => {
    const { memory } = readyAfter([
      'load_tensors: CUDA0 model buffer size = 5.00 MiB',
      'llama_memory_recurrent:      CUDA0 RS buffer size =     3.00 MiB',
      'clip_model_loader: model size:         7.00 MiB',
      'clip_ctx: CLIP using CUDA0 backend',
      'alloc_compute_meta:      CUDA0 compute buffer size =     2.00 MiB',
    ]);
    expect(memory?.devices).toEqual([
      { kind: 'device', name: 'CUDA0', model: 12 * MIB, context: 3 * MIB, compute: 2 * MIB },
    ]);
  });
});

describe('of several accounts of its memory', () => {
  const rows = [
    {
      kind: 'device',
      name: 'CUDA0',
      description: 'RTX',
      total: 600,
      free: 300,
      self: 99,
      model: 90,
      context: 9,
      compute: 0,
      unaccounted: -1,
    },
    { kind: 'host', name: 'Host', self: 4, model: 0, context: 0, compute: 4 },
    { kind: 'buffer_type', name: 'CUDA0_Split', self: 1, model: 1, context: 0, compute: 0 },
  ];
  const event = (data: unknown): string => JSON.stringify({ type: 'fit_memory_breakdown', data });
  const line = 'load_tensors: CUDA0 model buffer size = 5.00 MiB';

  it('the event of the log counts more than the lines; its whole MiB are rounded up', () => {
    const { effective, memory } = readyAfter([event({ unit: 'MiB', rows }), line]);
    expect(inMib(effective)).toEqual({ CUDA0: 91 + 10 + 2, Host: 5 });
    expect(memory).toMatchObject({ n_ctx: 2048, devices: [{ total: 600 * MIB, free: 300 * MIB }, {}, {}] });
  });

  it('the message counts more than either', () => {
    const memory = { n_ctx: 4096, devices: [{ kind: 'device', name: 'CUDA0', model: 7, context: 2, compute: 1 }] };
    const ready = `cmd_child_to_router:state:${JSON.stringify({ state: 'ready', payload: { memory } })}`;
    expect(readyAfter([event({ unit: 'MiB', rows }), line], ready).effective).toEqual({ CUDA0: 10 });
  });

  it.each([
    ['without rows', { unit: 'MiB' }],
    ['in other units', { unit: 'GiB', rows }],
    [
      'with figures that cannot be',
      { unit: 'MiB', rows: [{ kind: 'device', name: 'CUDA0', model: -5, context: 0, compute: 0 }] },
    ],
    ['with figures beyond all machines', { unit: 'MiB', rows: [{ ...rows[0], model: 1e300 }] }],
  ])('an event %s counts nothing', (_case, data) => {
    expect(inMib(readyAfter([event(data), line]).effective)).toEqual({ CUDA0: 5 });
  });
});

describe('a log is untrusted', () => {
  it('a message counts on stdout alone', () => {
    expect(createLlamaServerReader().read(READY, 'stderr')).toBeNull();
  });

  it('whatever it says, what comes of it is bounded and can be believed', () => {
    const word = fc.oneof(fc.constantFrom('CUDA0', 'CPU', '__proto__', 'toString', 'RPC0[x]'), fc.string());
    const number = fc.oneof(fc.constantFrom('1.00', '99999999999999999999', '-5', '1e9', '.', 'NaN'), fc.string());
    const noise = fc
      .tuple(word, fc.constantFrom('model', 'KV', 'compute', 'output'), number)
      .map(([name, kind, size]) => `load_tensors: ${name} ${kind} buffer size = ${size} MiB`);
    const lines = fc.array(fc.oneof(noise, fc.string()), { maxLength: 50 });
    fc.assert(
      fc.property(lines, (log) => {
        const amounts = Object.values(readyAfter(log).effective ?? {});
        return amounts.every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0);
      }),
    );
  });

  it('a thousand devices are no thousand rows for ever', () => {
    const log = Array.from({ length: 5000 }, (_, index) => `load_tensors: X${index} model buffer size = 1.00 MiB`);
    expect(readyAfter(log).memory?.devices.length).toBeLessThanOrEqual(512);
  });
});
