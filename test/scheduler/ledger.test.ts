import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/scheduler/events.js';
import { project } from '../../src/scheduler/project.js';
import type { ReadDeviceView } from '../../src/scheduler/snapshot.js';
import { GIB, type Millis } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

/** The four parts of the first device, in GiB. */
function parts(stage: Stage): Record<'held' | 'reserved' | 'external' | 'free' | 'over', number> {
  const [device] = project(stage.state).devices as [ReadDeviceView];
  const { heldBytes, reservedBytes, externalBytes, freeBytes, overcommitBytes, totalBytes } = device;
  expect(heldBytes + reservedBytes + externalBytes + freeBytes).toBe(totalBytes);
  const gib = (bytes: number): number => bytes / GIB;
  return {
    held: gib(heldBytes),
    reserved: gib(reservedBytes),
    external: gib(externalBytes),
    free: gib(freeBytes),
    over: gib(overcommitBytes),
  };
}

function reading(
  usedGib: number,
  attributed = true,
): { name: string; kind: 'discrete'; description: string; totalBytes: number; usedBytes: number; attributed: boolean } {
  return {
    name: 'CUDA0',
    kind: 'discrete',
    description: '',
    totalBytes: 24 * GIB,
    usedBytes: usedGib * GIB,
    attributed,
  };
}

describe('the ledger', () => {
  it('shrinks what is reserved as the loading child becomes visible, and counts nothing twice', () => {
    const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 2 }).catalog(spec('a', { CUDA0: 10 }));
    stage.request('a');
    expect(parts(stage)).toEqual({ held: 0, reserved: 10, external: 2, free: 12, over: 0 });
    const { generation } = stage.instance('a');
    const instances = [{ model: 'a', generation, resident: { CUDA0: 4 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now, devices: [reading(6)], instances });
    expect(parts(stage)).toEqual({ held: 4, reserved: 6, external: 2, free: 12, over: 0 });
    stage.ready('a');
    expect(parts(stage)).toEqual({ held: 10, reserved: 0, external: 2, free: 12, over: 0 });
  });

  it('raises a claim to what the instance is seen to hold', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }));
    stage.load('a');
    const { generation } = stage.instance('a');
    const instances = [{ model: 'a', generation, resident: { CUDA0: 13 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now + 2000, devices: [reading(13)], instances }, 2000);
    expect(parts(stage)).toMatchObject({ held: 13, external: 0 });
    expect(stage.model('a').observed).toEqual({ CUDA0: 13 * GIB });
  });

  it('says who has grown far beyond what was said of it: once for each such step, and not while it comes up', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }));
    stage.load('a');
    const { generation } = stage.instance('a');
    const said: string[] = [];
    const holds = (gib: number, later: Millis = 1000): void => {
      const instances = [{ model: 'a', generation, resident: { CUDA0: gib * GIB } }];
      stage.play({ type: 'sample', takenAt: stage.now + later, devices: [reading(gib)], instances }, later);
      said.push(...stage.decisions.map(({ sentence }) => sentence));
    };
    // The first look at one that has only just come up; then what buffers take.
    for (const gib of [10.5, 10.9, 11]) holds(gib);
    expect(said).toEqual([]);
    for (const gib of [13, 13.5, 14, 12, 15]) holds(gib);
    expect(said).toEqual([
      'a: has grown to 13.0 GiB on CUDA0, from 10.0 GiB on CUDA0 4s ago; that is what it counts for from now on',
      'a: has grown to 15.0 GiB on CUDA0, from 13.0 GiB on CUDA0 4s ago; that is what it counts for from now on',
    ]);
  });

  it('takes what a child says it allocated over an estimate, and what was seen over both', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }));
    stage.request('a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: 1, effective: { CUDA0: 7 * GIB } });
    expect(stage.instance('a')).toMatchObject({ claim: { CUDA0: 7 * GIB }, claimQuality: 'effective' });
  });

  it('says by how much a device is overcommitted, and still adds up', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 20 }));
    stage.load('a');
    const { generation } = stage.instance('a');
    const instances = [{ model: 'a', generation, resident: { CUDA0: 12 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [reading(22)], instances });
    expect(parts(stage)).toEqual({ held: 14, reserved: 0, external: 10, free: 0, over: 6 });
  });

  it('without attribution lets external rise but not fall while something loads', () => {
    const stage = new Stage().catalog(spec('a', { CUDA0: 10 }));
    const sample = (usedGib: number, later: Millis = 2): Stage =>
      stage.play(
        { type: 'sample', takenAt: stage.now + later, devices: [reading(usedGib, false)], instances: [] },
        later,
      );
    sample(3);
    stage.request('a');
    sample(5);
    expect(parts(stage), 'not yet allocated').toMatchObject({ reserved: 10, external: 3 });
    sample(16);
    expect(parts(stage), 'more than the claim was taken').toMatchObject({ reserved: 10, external: 6 });
    stage.ready('a');
    sample(11);
    expect(parts(stage), 'not all that it took may be seen yet').toMatchObject({ held: 10, external: 6 });
    sample(13, 2000);
    expect(parts(stage)).toMatchObject({ held: 10, external: 3 });
  });

  it('does not take the noise of system memory for memory that is not back yet', () => {
    const host = (usedGib: number): EventBody => {
      const reading = { name: 'Host', kind: 'host', description: '', totalBytes: 24 * GIB, attributed: true } as const;
      return {
        type: 'sample',
        takenAt: stage.now + 1,
        devices: [{ ...reading, usedBytes: usedGib * GIB }],
        instances: [],
      };
    };
    const stage = new Stage().devices({ Host: 24 }, { Host: 2 }).catalog(spec('a', { Host: 0.25 }));
    stage.load('a').sample().exit('a');
    stage.play(host(2.25), 2);
    expect(stage.state.releases).toEqual([]);
  });

  it('does not believe a sample about memory that was taken before the exit', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }));
    stage.load('a').sample();
    const before = stage.now;
    stage.exit('a', 'crashed');
    stage.play({ type: 'sample', takenAt: before - 1, devices: [reading(0)], instances: [] });
    expect(stage.state.releases).toHaveLength(1);
    stage.sample();
    expect(stage.state.releases).toEqual([]);
  });

  it('without attribution waits until four fifths of the memory are back', () => {
    const stage = new Stage().catalog(spec('a', { CUDA0: 10 }));
    const sample = (usedGib: number): Stage =>
      stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [reading(usedGib, false)], instances: [] }, 2);
    sample(2);
    stage.load('a');
    sample(12);
    stage.exit('a', 'crashed');
    sample(6);
    expect(stage.state.releases).toHaveLength(1);
    sample(3);
    expect(stage.state.releases).toEqual([]);
  });

  it("does not take memory for others' that is nobody's, since its process is gone and it is not back yet", () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 }, { CUDA0: 2 })
      .catalog(spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 20 }));
    stage.load('a').sample();
    const request = stage.request('b');
    stage.exit('a');
    const gone = (usedGib: number): Stage =>
      stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [reading(usedGib)], instances: [] }, 2);
    gone(16);
    expect(parts(stage)).toMatchObject({ held: 14, external: 2 });
    expect(stage.rejected.get(request), 'b is not too large').toBeUndefined();
    gone(2);
    expect(stage.state.releases).toEqual([]);
    expect(stage.did('spawn')).toEqual(['b']);
  });

  it('does not take an instance for empty that is in no list: its exit may not be seen yet', () => {
    const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 2 }).catalog(spec('a', { CUDA0: 14 }));
    stage.load('a').sample();
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [reading(16)], instances: [] }, 2);
    expect(parts(stage)).toMatchObject({ held: 14, external: 2 });
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [reading(19)], instances: [] }, 2);
    expect(parts(stage), "what goes beyond it is others'").toMatchObject({ held: 14, external: 5 });
  });

  it('without attribution does not let external fall by a sample from before readiness, nor while something rests', () => {
    const stage = new Stage().catalog(spec('a', { CUDA0: 10 }));
    const sample = (usedGib: number, takenAt = stage.now + 1): Stage =>
      stage.play({ type: 'sample', takenAt, devices: [reading(usedGib, false)], instances: [] }, 2);
    sample(3);
    stage.request('a');
    const before = stage.now;
    stage.ready('a');
    sample(5, before);
    expect(parts(stage)).toMatchObject({ held: 10, external: 3 });
    sample(13)
      .end('r1', 'a')
      .play({ type: 'sleeping', model: 'a', generation: stage.instance('a').generation });
    sample(4);
    expect(parts(stage)).toMatchObject({ held: 10, external: 3 });
  });
});
