import { describe, expect, it } from 'vitest';
import { project } from '../../src/scheduler/project.js';
import type { ReadDeviceView } from '../../src/scheduler/snapshot.js';
import { GIB, type Millis } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

const LOST = { devices: ['CUDA0'], message: 'nvml: GPU is lost (nvmlDeviceGetMemoryInfo_v2, code 15)' };

/** A card of 24 GiB of which others use 2, and two models of which one fits beside the other only just not. */
const card = (): Stage =>
  new Stage({ marginBytes: 1 })
    .devices({ CUDA0: 24 }, { CUDA0: 2 })
    .catalog(spec('a', { CUDA0: 15 }), spec('b', { CUDA0: 8 }));

const view = (stage: Stage): ReadDeviceView => project(stage.state).devices[0] as ReadDeviceView;
const gib = (stage: Stage): readonly number[] => {
  const { heldBytes, reservedBytes, externalBytes, freeBytes } = view(stage);
  return [heldBytes, reservedBytes, externalBytes, freeBytes].map((bytes) => bytes / GIB);
};
/** A sample in which the card cannot be read. */
const unheard = (stage: Stage, later: Millis = 1): Stage =>
  stage.play({ type: 'sample', takenAt: stage.now + later, devices: [], instances: [], failures: [LOST] }, later);

describe('a device that cannot be read', () => {
  it('keeps its last figures, which age, and says why in its driver’s words', () => {
    const stage = card().load('a').sample();
    const { sampledAt } = view(stage);
    unheard(stage, 60_000);
    expect(gib(stage)).toEqual([15, 0, 2, 7]);
    expect(view(stage)).toMatchObject({ sampledAt, problem: LOST.message });
    stage.sample();
    expect(view(stage)).toMatchObject({ sampledAt: stage.now, problem: null });
  });

  it('does not become free when its instance exits: what nobody has seen to be back counts as others’', () => {
    const stage = card().load('a').sample();
    const { generation } = stage.instance('a');
    unheard(stage);
    stage.operator('unload', 'a').exit('a');
    expect(gib(stage)).toEqual([15, 0, 2, 7]);
    unheard(stage, 4000).play({ type: 'timer', timer: { kind: 'release', model: 'a', generation } }, 1000);
    expect(gib(stage)).toEqual([0, 0, 17, 7]);
    expect(stage.decisions[0]?.sentence).toBe(
      'a: 15.0 GiB on CUDA0 not seen to be back 5 s after its exit, since CUDA0 could not be read meanwhile; ' +
        "counting it as others' until somebody has looked",
    );
    stage.request('b');
    expect(stage.did('spawn')).toEqual([]);
    stage.sample();
    expect(gib(stage)).toEqual([0, 8, 2, 14]);
    expect(stage.did('spawn')).toEqual(['b']);
  });

  it('takes no load on figures that nobody has seen, and nobody has to leave for one; it is waited for', () => {
    const stage = unheard(card().load('a').sample());
    stage.request('b');
    expect([stage.did('spawn'), stage.did('stop')]).toEqual([[], []]);
    expect(stage.decisions[0]?.sentence).toBe(
      `b: CUDA0 cannot be read, so nobody knows what is free there: ${LOST.message}`,
    );
    stage.sample();
    expect(stage.did('stop'), 'now it is known that there is no room').toEqual(['a']);
  });

  it('is not waited for for ever: after half a minute requests are told, in the driver’s words, and may ask again', () => {
    const stage = unheard(card());
    const request = stage.request('b');
    unheard(stage, 29_000);
    expect(stage.rejected.size).toBe(0);
    unheard(stage, 1000);
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'device_unreadable' });
    expect(stage.rejected.get(request)?.retryAfterSeconds).toBeGreaterThan(0);
    expect(stage.rejected.get(request)?.message).toContain(LOST.message);
  });

  it('is loaded on all the same where the user said so', () => {
    const stage = new Stage({ admission: 'proceed' }).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 15 }));
    unheard(stage).request('a');
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('gives memory up after the limit where a probe was heard, and saw nothing of it', () => {
    const stage = card().load('a').sample();
    const { generation } = stage.instance('a');
    stage.operator('unload', 'a').exit('a');
    // Still in use, by nobody that is known: not back yet.
    const used = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 24 * GIB, attributed: true } as const;
    const devices = [{ ...used, usedBytes: 17 * GIB }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [] });
    expect(gib(stage)).toEqual([15, 0, 2, 7]);
    stage.play({ type: 'timer', timer: { kind: 'release', model: 'a', generation } }, 5000);
    expect(gib(stage)).toEqual([0, 0, 2, 22]);
  });

  it('is known by name alone to a scheduler that never read it', () => {
    const stage = new Stage();
    stage.play({ type: 'sample', takenAt: 1, devices: [], instances: [], failures: [LOST] });
    expect(project(stage.state).devices).toMatchObject([{ name: 'CUDA0', totalBytes: null }]);
    expect(stage.state.devices).toEqual({});
  });
});

describe('what a probe says besides', () => {
  it('is shown as it said it, and forgotten when it no longer does', () => {
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: GIB, attributed: true } as const;
    const foreign = [{ pid: 7, name: 'game', bytes: 5 }];
    const stage = new Stage();
    const play = (more: object): ReadDeviceView =>
      view(stage.play({ type: 'sample', takenAt: 1, devices: [{ ...reading, usedBytes: 9, ...more }], instances: [] }));
    expect(play({ source: 'nvml', remark: 'hidden', foreign })).toMatchObject({
      source: 'nvml',
      remark: 'hidden',
      foreign,
    });
    expect(play({})).toMatchObject({ source: '', remark: '', foreign: [] });
  });

  it('makes the devices be watched closely while a model is measured', () => {
    const stage = new Stage({ measures: true }).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 5 }));
    expect(stage.effects).toContainEqual({ type: 'watch-devices', closely: true });
    const { fingerprint } = stage.model('a').spec;
    stage.play({ type: 'measured', model: 'a', fingerprint, placements: null, reason: 'no' });
    expect(stage.effects).toContainEqual({ type: 'watch-devices', closely: false });
  });
});
