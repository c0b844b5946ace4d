import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatProtocolLine, parseProtocolLine } from '../../../src/engines/protocol.js';

const state = (json: string): string => `cmd_child_to_router:state:${json}`;
const ready = (memory: unknown): string => state(JSON.stringify({ state: 'ready', payload: { memory } }));
const row = (kind: string, name: string, model: unknown = 1, context: unknown = 2, compute: unknown = 3): object => {
  return { kind, name, model, context, compute };
};

describe('the child protocol', () => {
  it.each([
    [
      'loading with a fraction',
      state('{"state":"loading","payload":{"value":0.25}}'),
      { type: 'loading', progress: 0.25 },
    ],
    ['loading without one', state('{"state":"loading"}'), { type: 'loading', progress: null }],
    [
      'a fraction out of range',
      state('{"state":"loading","payload":{"value":1e999}}'),
      { type: 'loading', progress: null },
    ],
    ['sleeping', state('{"state":"sleeping","payload":{}}'), { type: 'sleeping' }],
    ['ready after a wake', state('{"state":"ready"}'), { type: 'ready', contextTokens: null, effective: null }],
    ['the oldest ready', 'cmd_child_to_router:ready', { type: 'ready', contextTokens: null, effective: null }],
    ['a line end of Windows', 'cmd_child_to_router:ready\r', { type: 'ready', contextTokens: null, effective: null }],
  ])('reads %s', (_, line, message) => {
    expect(parseProtocolLine(line)).toEqual(message);
  });

  it('adds up what each device holds, system memory under any name as Host', () => {
    const devices = [
      row('device', 'CUDA0', 100, 20, 3),
      row('device', 'CUDA1', 7, 0, 0),
      row('host', 'Host', 5, 5, 5),
      row('buffer_type', 'CPU_REPACK', 1, 0, 0),
      row('buffer_type', 'CUDA_Host', 2, 0, 0),
      row('buffer_type', 'CUDA0_Split', 1000, 0, 0),
    ];
    expect(parseProtocolLine(ready({ n_ctx: 4096, devices }))).toMatchObject({
      type: 'ready',
      contextTokens: 4096,
      effective: { CUDA0: 1123, CUDA1: 7, Host: 18 },
    });
  });

  it.each([
    ['a negative size', row('device', 'CUDA0', -1)],
    ['a fraction of a byte', row('device', 'CUDA0', 0.5)],
    ['a size that is text', row('device', 'CUDA0', '1')],
    ['a size beyond what is exact', row('device', 'CUDA0', 2 ** 53)],
    ['a sum beyond what is exact', row('device', 'CUDA0', 2 ** 53 - 1, 1, 0)],
    ['no name', row('device', '')],
    ['an endless name', row('device', 'x'.repeat(1000))],
    ['an unknown kind', row('planet', 'CUDA0')],
    ['no object at all', [1]],
  ])('believes none of the figures with %s, but that the child is ready', (_, bad) => {
    const devices = [row('device', 'CUDA1'), bad];
    expect(parseProtocolLine(ready({ n_ctx: 1, devices }))).toMatchObject({ type: 'ready', effective: null });
  });

  it('keeps a device called __proto__ an ordinary one', () => {
    const message = parseProtocolLine(ready({ n_ctx: 1, devices: [row('device', '__proto__')] }));
    expect(message?.type === 'ready' && Object.entries(message.effective ?? {})).toEqual([['__proto__', 6]]);
    expect(Object.prototype).not.toHaveProperty('6');
  });

  it.each([
    ['an ordinary log line', 'llama_model_loader: loaded'],
    ['the prefix inside a line', ` ${state('{"state":"sleeping"}')}`],
    ['an unknown state', state('{"state":"flying"}')],
    ['a state for others', state('{"state":"downloading","payload":{}}')],
    ['broken JSON', state('{"state":"ready"')],
    ['a list', state('["ready"]')],
    ['null', state('null')],
    ['an unknown message', 'cmd_child_to_router:dance'],
    ['deep nesting', state('['.repeat(200_000))],
    ['a line over 1 MiB', state(`{"state":"ready","payload":{"x":"${'x'.repeat(1024 * 1024)}"}}`)],
  ])('takes %s for a log line', (_, line) => {
    expect(parseProtocolLine(line)).toBeNull();
  });

  it('never throws, and reads back what it writes', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        parseProtocolLine(state(json));
        parseProtocolLine(state(`{"state":"ready","payload":{"memory":{"devices":${json}}}}`));
      }),
    );
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (value) => {
        const message = parseProtocolLine(formatProtocolLine('loading', { value }));
        expect(message).toEqual({ type: 'loading', progress: Object.is(value, -0) ? 0 : value });
      }),
    );
  });
});
