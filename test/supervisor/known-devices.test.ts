import { describe, expect, it } from 'vitest';
import type { DeviceReading } from '../../src/scheduler/events.js';
import { KnownDevices } from '../../src/supervisor/known-devices.js';

const reading = (name: string, totalBytes = 9): DeviceReading => ({
  name,
  kind: 'discrete',
  description: '',
  totalBytes,
  usedBytes: 1,
  attributed: true,
});
const failing = (...devices: readonly string[]): { readonly devices: readonly string[] } => ({ devices });
const sizes = (devices: readonly DeviceReading[]): readonly (readonly [string, number])[] =>
  devices.map(({ name, totalBytes }) => [name, totalBytes]);

describe('the devices of a machine', () => {
  it('stay known, as they were first read, while a probe loses them', () => {
    const known = new KnownDevices();
    expect(known.take([reading('CUDA0'), reading('Host')], [])).toBe(true);
    expect(known.take([reading('Host', 8)], [failing('CUDA0')])).toBe(false);
    expect(sizes(known.all)).toEqual([
      ['CUDA0', 9],
      ['Host', 9],
    ]);
  });

  it('are of unknown size where they could never be read, and news once they are', () => {
    const known = new KnownDevices();
    expect(known.take([reading('Host')], [failing('CUDA0', 'CUDA1')])).toBe(true);
    expect(known.take([reading('Host')], [failing('CUDA1'), failing('CUDA0')])).toBe(false);
    expect([sizes(known.read), sizes(known.all).slice(1)]).toEqual([
      [['Host', 9]],
      [
        ['CUDA0', 0],
        ['CUDA1', 0],
      ],
    ]);
    expect(known.take([reading('CUDA0'), reading('Host')], [failing('CUDA1')])).toBe(true);
    expect(sizes(known.all)).toEqual([
      ['Host', 9],
      ['CUDA0', 9],
      ['CUDA1', 0],
    ]);
    expect(known.take([reading('CUDA0'), reading('Host')], []), 'nothing speaks for the other any more').toBe(true);
  });
});
