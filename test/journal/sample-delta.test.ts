import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSample, encodeSample, type SampleEvent } from '../../src/journal/sample-delta.js';

// Few names and amounts, so that samples often agree in parts; names of object members, since they come from outside.
const name = fc.constantFrom('CUDA0', 'CUDA1', '7', '__proto__', 'constructor', '');
const bytes = fc.constantFrom(0, 1, 2 ** 34, -1, 0.5);
const device = fc.record({
  name,
  kind: fc.constantFrom('discrete', 'host'),
  description: fc.constantFrom('', 'a device\n"quoted"'),
  totalBytes: bytes,
  usedBytes: bytes,
  attributed: fc.boolean(),
});
const instance = fc.record({
  model: name,
  generation: fc.nat({ max: 2 }),
  resident: fc.array(fc.tuple(name, bytes), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)),
});
const sample: fc.Arbitrary<SampleEvent> = fc
  .tuple(fc.nat(), fc.nat(), fc.array(device, { maxLength: 3 }), fc.array(instance, { maxLength: 4 }))
  .map(([at, takenAt, devices, instances]) => ({ at, type: 'sample', takenAt, devices, instances }));

/** What is read back of samples that were written one after another. */
function roundTrip(samples: readonly SampleEvent[]): readonly SampleEvent[] {
  const lines: string[] = [];
  let written: SampleEvent | null = null;
  for (const event of samples) {
    lines.push(JSON.stringify(encodeSample(written, event)));
    written = event;
  }
  const read: SampleEvent[] = [];
  for (const line of lines) {
    read.push(decodeSample(read.at(-1) ?? null, JSON.parse(line) as ReturnType<typeof encodeSample>));
  }
  return read;
}

describe('samples as differences', () => {
  it('come back byte for byte, whatever changes between them', () => {
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 12 }), (samples) => {
        expect(roundTrip(samples).map((event) => JSON.stringify(event))).toEqual(
          samples.map((event) => JSON.stringify(event)),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('are only their times where nothing has changed', () => {
    fc.assert(
      fc.property(sample, fc.nat(), (event, at) => {
        const again = structuredClone({ ...event, at, takenAt: at - 3 });
        expect(encodeSample(event, again)).toEqual({ sample: [at, at - 3] });
      }),
    );
  });

  it('are only the changed figure where one has changed', () => {
    const reading = { kind: 'discrete', description: '', totalBytes: 100, attributed: true } as const;
    const before: SampleEvent = {
      ...{ at: 1, type: 'sample', takenAt: 1, instances: [] },
      devices: [
        { ...reading, name: 'CUDA0', usedBytes: 5 },
        { ...reading, name: 'CUDA1', usedBytes: 6 },
      ],
    };
    const after = { ...before, devices: before.devices.map((one, i) => (i === 1 ? { ...one, usedBytes: 7 } : one)) };
    expect(encodeSample(before, after)).toEqual({ sample: [1, 1], devices: [0, { set: { usedBytes: 7 } }] });
  });
});
