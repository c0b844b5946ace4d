import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/scheduler/events.js';
import { GIB } from '../../src/scheduler/units.js';
import { exited, spec, Stage } from '../support/stage.js';

const twoModels = (): Stage =>
  new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 20 }));

describe('lifecycle and leases', () => {
  it('serves all who waited for one load, each once', () => {
    const stage = twoModels();
    const requests = [stage.request('a'), stage.request('a'), stage.request('a')];
    stage.ready('a');
    expect(stage.granted).toEqual(requests);
    expect(stage.state.queue).toEqual([]);
    expect(stage.instance('a').leases).toEqual(requests);
  });

  it('goes on loading for the others when one of them leaves', () => {
    const stage = twoModels();
    const [first, second] = [stage.request('a'), stage.request('a')];
    stage.end(first, 'a').ready('a');
    expect(stage.granted).toEqual([second]);
  });

  it('does not load for a waiter that left before its turn', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a');
    const waiting = stage.request('b');
    stage.end(waiting, 'b').end('r1', 'a');
    expect(stage.phases()).toEqual({ a: 'ready' });
  });

  it('queues a request for a stopping model for its next generation', () => {
    const stage = twoModels();
    stage.load('a').operator('unload', 'a');
    const { generation } = stage.instance('a');
    const request = stage.request('a');
    expect(stage.granted).not.toContain(request);
    stage.exit('a').sample();
    expect(stage.instance('a').generation).toBeGreaterThan(generation);
    stage.ready('a');
    expect(stage.granted).toContain(request);
  });

  it('ignores what belongs to an old generation', () => {
    const stage = twoModels();
    stage.load('a').operator('unload', 'a');
    const { generation } = stage.instance('a');
    stage.request('a');
    stage.exit('a').sample();
    const before = JSON.stringify(stage.state.models);
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: 1, effective: { CUDA0: 1 } });
    stage.play({ type: 'progress', model: 'a', generation, value: 0.5 });
    stage.play(exited('a', generation));
    stage.end('r1', 'a');
    expect(JSON.stringify(stage.state.models)).toBe(before);
  });

  it('counts an exit that is reported twice once', () => {
    const stage = twoModels();
    stage.load('a');
    const { generation } = stage.instance('a');
    stage.exit('a', 'crashed');
    stage.play(exited('a', generation));
    expect(stage.model('a').failures).toBe(1);
    expect(stage.state.releases).toHaveLength(1);
  });

  it('tells waiters why a load failed, and paces the next try', () => {
    const stage = twoModels();
    const request = stage.request('a');
    stage.exit('a', 'unreadable-model', { reason: 'the file is truncated' });
    expect(stage.rejected.get(request)).toMatchObject({
      status: 503,
      code: 'model_failed_to_load',
      retryAfterSeconds: 1,
    });
    expect(stage.rejected.get(request)?.message).toContain('the file is truncated');
    const soon = stage.request('a');
    expect(stage.rejected.get(soon)?.code).toBe('model_failed');
    stage.now += 1000;
    stage.request('a');
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('lets a request wait for a model that has crashed at work, and no longer once it does not come up', () => {
    const stage = twoModels();
    stage.load('a').exit('a', 'crashed');
    const request = stage.request('a');
    expect([stage.rejected.get(request), stage.did('spawn')]).toEqual([undefined, []]);
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 1000);
    expect(stage.did('spawn')).toEqual(['a']);
    stage.ready('a');
    expect(stage.granted).toContain(request);
    stage.end(request, 'a').exit('a', 'crashed').sample();
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 1000);
    const waits = stage.request('a');
    stage.exit('a', 'crashed');
    expect(stage.rejected.get(waits)?.code).toBe('model_failed_to_load');
    expect(stage.rejected.get(stage.request('a'))?.code, 'it has not come up again').toBe('model_failed');
  });

  it('raises the claim after running out of memory to more than there was, and tries once more', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 12 }));
    stage.load('b');
    const request = stage.request('a');
    const outOfMemory = { device: 'CUDA0', askedBytes: 3 * GIB, reason: 'out of memory on CUDA0' } as const;
    const before = stage.instance('a').claim;
    stage.exit('a', 'out-of-memory', outOfMemory);
    expect(before).toEqual({ CUDA0: 10 * GIB });
    expect(stage.did('stop'), 'with b beside it there was not enough').toEqual(['b']);
    stage.exit('b').sample();
    expect(stage.instance('a').claim['CUDA0']).toBe(12 * GIB + 1);
    stage.exit('a', 'out-of-memory', outOfMemory).sample();
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'out_of_memory' });
    expect(stage.phases()).toEqual({});
  });

  it('claims what was missing on one device on every other too', () => {
    const placements = ['CUDA0', 'CUDA1'].map((device) => ({ need: { [device]: 10 * GIB }, quality: 'min' }) as const);
    const stage = new Stage().devices({ CUDA0: 12, CUDA1: 24 }).catalog(spec('a', {}, { placements }));
    stage.request('a');
    expect(stage.instance('a').claim).toEqual({ CUDA0: 10 * GIB });
    stage.exit('a', 'out-of-memory', { device: 'CUDA0', askedBytes: 2 * GIB, reason: 'out of memory' }).sample();
    expect(stage.instance('a').claim, 'more than the 12 GiB that were not enough').toEqual({ CUDA1: 12 * GIB + 1 });
  });

  it('knows where memory ran out without being told, where only one device was used', () => {
    const stage = twoModels();
    stage.request('a');
    stage.exit('a', 'out-of-memory', { device: null, askedBytes: null, reason: 'out of memory' }).sample();
    expect(stage.instance('a').claim).toEqual({ CUDA0: 23 * GIB });
  });

  it('remembers what an instance was seen to hold beyond what was known, wherever the model is loaded next', () => {
    const placements = ['CUDA0', 'CUDA1'].map((device) => ({ need: { [device]: 10 * GIB }, quality: 'min' }) as const);
    const reading = { kind: 'discrete', description: '', attributed: true, totalBytes: 24 * GIB } as const;
    const stage = new Stage().devices({ CUDA0: 24, CUDA1: 24 }).catalog(spec('a', {}, { placements }));
    stage.request('a');
    const { generation } = stage.instance('a');
    const devices = [{ ...reading, name: 'CUDA0', usedBytes: 11 * GIB }];
    const instances = [{ model: 'a', generation, resident: { CUDA0: 11 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances }, 2);
    stage.exit('a', 'killed').sample();
    stage.devices({ CUDA0: 24, CUDA1: 24 }, { CUDA0: 20 });
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 2000).request('a');
    expect(stage.instance('a').claim).toEqual({ CUDA1: 11 * GIB });
  });

  it('gives back what was claimed in vain, once the model has been seen at work', () => {
    const stage = twoModels();
    stage.request('a');
    stage.exit('a', 'out-of-memory', { device: 'CUDA0', askedBytes: GIB, reason: 'out of memory' }).sample();
    const request = stage.request('a');
    stage.ready('a').end(request, 'a');
    const { generation } = stage.instance('a');
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', attributed: true } as const;
    const devices = [{ ...reading, totalBytes: 24 * GIB, usedBytes: 11 * GIB }];
    const instances = [{ model: 'a', generation, resident: { CUDA0: 11 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now + 2000, devices, instances }, 2000);
    expect(stage.instance('a').claim).toEqual({ CUDA0: 11 * GIB });
    expect(stage.model('a')).toMatchObject({ raised: null, observed: { CUDA0: 11 * GIB } });
  });

  it.each([
    {
      what: 'what it was seen to hold, not what it was counted for',
      resident: 3,
      used: 0,
      says: '3.0 GiB on CUDA0 back',
    },
    { what: 'that it had nothing', resident: 0, used: 0, says: 'nothing of it is left' },
  ])('tells of memory that came back $what', ({ resident, used, says }) => {
    const stage = twoModels();
    stage.request('a');
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', attributed: true } as const;
    const sample = (bytes: number, instances: Extract<EventBody, { type: 'sample' }>['instances']): void => {
      const devices = [{ ...reading, totalBytes: 24 * GIB, usedBytes: bytes }];
      stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances }, 2);
    };
    const { generation } = stage.instance('a');
    if (resident > 0) sample(resident * GIB, [{ model: 'a', generation, resident: { CUDA0: resident * GIB } }]);
    stage.exit('a');
    sample(used, []);
    const [release] = stage.decisions.filter(({ kind }) => kind === 'release');
    expect(release?.sentence).toContain(`a: ${says} `);
  });

  it('tells of what came back by the total, where that alone is known', () => {
    const stage = twoModels();
    const sample = (usedGib: number): void => {
      const reading = { name: 'CUDA0', kind: 'discrete', description: '', attributed: false } as const;
      const devices = [{ ...reading, totalBytes: 24 * GIB, usedBytes: usedGib * GIB }];
      stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [] }, 2);
    };
    sample(1);
    stage.request('a');
    sample(10);
    stage.exit('a');
    sample(1);
    expect(stage.decisions.find(({ kind }) => kind === 'release')?.sentence).toContain('a: 9.0 GiB on CUDA0 back ');
  });

  it('keeps a raised claim where nobody can say what the model holds', () => {
    const unseen = [{ name: 'CUDA0', kind: 'discrete', description: '', attributed: false } as const];
    const devices = unseen.map((device) => ({ ...device, totalBytes: 24 * GIB, usedBytes: 0 }));
    const stage = twoModels();
    const sample = (): Stage => stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [] }, 2);
    sample();
    const request = stage.request('a');
    stage.exit('a', 'out-of-memory', { device: 'CUDA0', askedBytes: GIB, reason: 'out of memory' });
    sample().play({ type: 'timer', timer: { kind: 'release', model: 'a', generation: 1 } }, 5000);
    stage.ready('a').end(request, 'a');
    sample();
    expect(stage.model('a').raised).not.toBeNull();
  });

  it('never makes a model too large for ever by a figure from a log', () => {
    const stage = twoModels();
    stage.request('a');
    const absurd = { device: 'CUDA0', askedBytes: 5000 * GIB, reason: 'out of memory on CUDA0' } as const;
    stage.exit('a', 'out-of-memory', absurd).sample();
    expect(stage.instance('a').claim, 'all that it can have alone').toEqual({ CUDA0: 23 * GIB });
    stage.ready('a');
    const { generation } = stage.instance('a');
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', attributed: true } as const;
    const devices = [{ ...reading, totalBytes: 24 * GIB, usedBytes: 10 * GIB }];
    stage.request('a');
    const instances = [{ model: 'a', generation, resident: { CUDA0: 10 * GIB } }];
    stage.play({ type: 'sample', takenAt: stage.now + 2000, devices, instances }, 2000);
    expect(stage.model('a'), 'what is seen at work counts more').toMatchObject({ raised: null });
  });

  it('tells waiters when the operator unloads, lets requests in flight end, and loads again for later ones', () => {
    const stage = twoModels();
    const running = stage.request('a');
    stage.ready('a').operator('unload', 'a');
    expect(stage.did('stop')).toEqual([]);
    const later = stage.request('a');
    stage.end(running, 'a');
    expect(stage.did('stop')).toEqual(['a']);
    stage.exit('a').sample().ready('a');
    expect(stage.granted).toContain(later);

    const waiting = stage.request('b');
    stage.operator('unload', 'b');
    expect(stage.rejected.get(waiting)).toMatchObject({ status: 503, code: 'model_unloaded' });
  });

  it('loads a pinned model at start and again after a crash', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }, { pinned: true }));
    expect(stage.did('spawn')).toEqual(['a']);
    stage.ready('a').exit('a', 'crashed').sample();
    expect(stage.phases(), 'not before its back-off').toEqual({});
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 1000);
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('keeps unchanged models running over a reload, drains changed ones and forgets removed ones', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 2 }), spec('b', { CUDA0: 2 }), spec('c', { CUDA0: 2 }));
    stage.load('a').load('b');
    stage.request('c');
    stage.catalog(spec('a', { CUDA0: 2 }), spec('b', { CUDA0: 3 }, { fingerprint: 'b 2' }));
    expect(stage.phases()).toEqual({ a: 'ready', b: 'stopping', c: 'stopping' });
    expect([...stage.rejected.values()].map(({ code }) => code)).toEqual(['model_not_found']);
    stage.exit('b').exit('c').sample();
    expect(stage.state.modelOrder).toEqual(['a', 'b']);
  });

  it('stops everything on shutdown and leaves nobody waiting', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a');
    const waiting = stage.request('b');
    stage.play({ type: 'shutdown' });
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.rejected.get(waiting)?.code).toBe('shutting_down');
    expect(stage.rejected.get(stage.request('a'))?.code).toBe('shutting_down');
  });

  it('survives ids that are names of object members, and figures that cannot be', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('constructor', { CUDA0: 2 }));
    expect(stage.rejected.get(stage.request('toString'))?.status).toBe(404);
    stage.load('constructor');
    const before = JSON.stringify(stage.state.devices);
    const absurd = { kind: 'discrete', description: '', attributed: true } as const;
    stage.play({
      type: 'sample',
      takenAt: stage.now,
      devices: [
        { ...absurd, name: 'CUDA0', totalBytes: Number.NaN, usedBytes: 0 },
        { ...absurd, name: 'CUDA0', totalBytes: 24 * GIB, usedBytes: -1 },
        { ...absurd, name: 'CUDA0', totalBytes: Infinity, usedBytes: 0 },
      ],
      instances: [],
    });
    expect(JSON.stringify(stage.state.devices)).toBe(before);
  });
});
