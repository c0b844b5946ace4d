import { describe, expect, it } from 'vitest';
import { applyDecision, applyDelta, DECISIONS_KEPT } from '../../src/client/apply-delta.js';
import { readDevices } from '../../src/client/read-devices.js';
import { GIB } from '../../src/scheduler/units.js';
import { busySnapshot, readyModel, SAMPLE_TIME, sampleDecision, sampleModel } from '../support/snapshots.js';

describe('a delta applied to a snapshot', () => {
  it('replaces the changed models only and keeps their places', () => {
    const before = busySnapshot();
    const after = applyDelta(before, { at: SAMPLE_TIME + 1, models: [readyModel('phi-4', 8 * GIB, { requests: 3 })] });
    expect(after.models.map((model) => model.id)).toEqual(before.models.map((model) => model.id));
    expect(after.models[2]?.requests).toBe(3);
    expect(after.models[0]).toBe(before.models[0]);
    expect(after.devices).toBe(before.devices);
    expect(after.queue).toBe(before.queue);
  });

  it('follows a new order: models come, go and move', () => {
    const before = busySnapshot();
    const after = applyDelta(before, {
      at: SAMPLE_TIME + 1,
      models: [sampleModel('new-1b')],
      modelOrder: ['new-1b', 'phi-4', 'qwen3-32b'],
    });
    expect(after.models.map((model) => model.id)).toEqual(['new-1b', 'phi-4', 'qwen3-32b']);
  });

  it('keeps what is sent again but has not changed as the same object', () => {
    const before = busySnapshot();
    const copy = structuredClone(before);
    const after = applyDelta(before, {
      at: SAMPLE_TIME + 1,
      devices: readDevices(copy.devices).map((device, index) => (index === 0 ? { ...device, freeBytes: 1 } : device)),
      models: copy.models,
      queue: copy.queue,
    });
    expect(after.models).toBe(before.models);
    expect(after.queue).toBe(before.queue);
    expect(after.devices).not.toBe(before.devices);
    expect(after.devices[1]).toBe(before.devices[1]);
    expect(after.devices[0]?.segments).toBe(before.devices[0]?.segments);
  });

  it('tells since when something is measured, and when nothing is any more', () => {
    const measuring = applyDelta(busySnapshot(), { at: SAMPLE_TIME, measuringSince: SAMPLE_TIME });
    expect(measuring.measuringSince).toBe(SAMPLE_TIME);
    expect(applyDelta(measuring, { at: SAMPLE_TIME }).measuringSince).toBe(SAMPLE_TIME);
    expect(applyDelta(measuring, { at: SAMPLE_TIME, measuringSince: null }).measuringSince).toBeNull();
  });

  it('does not change the snapshot it starts from', () => {
    const before = busySnapshot();
    const copy = structuredClone(before);
    applyDelta(before, { at: SAMPLE_TIME + 9, models: [], queue: [], modelOrder: [], shuttingDown: true });
    expect(before).toEqual(copy);
  });
});

describe('a decision applied to a snapshot', () => {
  it('is added once, at the end', () => {
    const before = busySnapshot();
    const after = applyDecision(before, sampleDecision(9));
    expect(after.decisions.at(-1)?.number).toBe(9);
    expect(applyDecision(after, sampleDecision(9))).toBe(after);
  });

  it('pushes out the oldest when there are too many', () => {
    let snapshot = busySnapshot();
    for (let number = 10; number < DECISIONS_KEPT + 20; number += 1) {
      snapshot = applyDecision(snapshot, sampleDecision(number));
    }
    expect(snapshot.decisions).toHaveLength(DECISIONS_KEPT);
    expect(snapshot.decisions[0]?.number).toBe(20);
  });
});
