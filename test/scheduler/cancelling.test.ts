import { describe, expect, it } from 'vitest';
import { reasonAgainst } from '../../src/scheduler/operator.js';
import { GIB } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

const twoModels = (): Stage =>
  new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 20 }));

describe('cancelling', () => {
  it('tells all who wait, with a reason, and takes their model out of the queue', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a');
    const [first, second] = [stage.request('b'), stage.request('b')];
    stage.operator('cancel', 'b');
    for (const request of [first, second]) {
      expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'request_cancelled' });
      expect(stage.rejected.get(request)?.message).toContain('cancelled by the operator');
    }
    expect(stage.state.queue).toEqual([]);
    expect(stage.decisions[0]?.sentence).toBe('b: 2 waiting: cancelled by the operator');
    expect(stage.decisions[0]?.asker).toEqual({ kind: 'operator' });
  });

  it('cuts off who is being answered, whose lease lasts until that is over', () => {
    const stage = twoModels();
    const request = stage.request('a');
    stage.ready('a').operator('cancel', 'a');
    const { generation } = stage.instance('a');
    expect(stage.effects).toContainEqual({ type: 'cut-off', request, model: 'a', generation });
    expect(stage.instance('a').leases).toEqual([request]);
    stage.end(request, 'a');
    expect(stage.instance('a').leases).toEqual([]);
    expect(stage.phases()).toEqual({ a: 'ready' });
  });

  it('of one request leaves the others alone', () => {
    const stage = twoModels();
    const [first, second] = [stage.request('a'), stage.request('a')];
    stage.play({ type: 'operator', action: 'cancel', model: 'a', request: first });
    expect([...stage.rejected.keys()]).toEqual([first]);
    stage.ready('a');
    expect(stage.granted).toEqual([second]);
    const third = stage.request('a');
    stage.play({ type: 'operator', action: 'cancel', model: 'a', request: third });
    expect(stage.effects.flatMap((effect) => (effect.type === 'cut-off' ? [effect.request] : []))).toEqual([third]);
  });

  it('also takes back a load that only the operator wanted, but never a pin', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a').operator('load', 'b').operator('cancel', 'b');
    expect(stage.state.queue).toEqual([]);
    stage.operator('pin', 'b');
    expect(stage.state.queue).toHaveLength(1);
    expect(reasonAgainst(stage.state, 'cancel', 'b')).toContain('no request');
    stage.operator('cancel', 'b');
    expect(stage.state.queue).toHaveLength(1);
    expect(stage.decisions).toEqual([]);
  });

  it('also stops a load under way that only the operator wanted, and its child with it', () => {
    const stage = twoModels().operator('load', 'a').operator('cancel', 'a');
    expect(stage.state.queue).toEqual([]);
    expect(stage.phases()).toEqual({ a: 'stopping' });
    stage.exit('a');
    expect(stage.model('a')).toMatchObject({ instance: null, failures: 0 });
  });
});

describe('unloading', () => {
  it.each([
    [1, 'a: unloaded by the operator once its 1 in flight has ended, or in 10s'],
    [2, 'a: unloaded by the operator once its 2 in flight have ended, or in 10s'],
  ])('says of %i requests that they may end, and how long they have', (count, said) => {
    const stage = twoModels().load('a');
    for (let i = 0; i < count; i += 1) stage.request('a');
    stage.operator('unload', 'a');
    expect(stage.decisions[0]?.sentence).toBe(said);
  });
});

describe('withdrawing a load', () => {
  it('takes back what waits, and lets go whoever was to leave for it', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a').operator('load', 'b').operator('withdraw', 'b');
    expect(stage.state.queue).toEqual([]);
    expect(stage.decisions[0]?.sentence).toBe('b: its load was withdrawn by the operator');
    expect(stage.phases()).toEqual({ a: 'ready' });
  });

  it('stops the child that is starting for it', () => {
    const stage = twoModels().operator('load', 'a').operator('withdraw', 'a');
    expect(stage.phases()).toEqual({ a: 'stopping' });
  });

  it('leaves the load to requests that wait for it, waiting or under way', () => {
    const stage = twoModels().operator('load', 'a');
    const request = stage.request('a');
    stage.operator('withdraw', 'a');
    expect(stage.decisions[0]?.sentence).toContain('it goes on, since others want it too');
    expect(stage.phases()).toEqual({ a: 'loading' });
    stage.ready('a');
    expect(stage.granted).toEqual([request]);
    expect(stage.rejected.size).toBe(0);
  });

  it('leaves the load to the pin that wants it', () => {
    const stage = twoModels();
    const request = stage.request('a');
    stage.ready('a').operator('load', 'b').operator('pin', 'b').operator('withdraw', 'b');
    expect(stage.state.queue).toMatchObject([{ model: 'b', wanted: 'pin' }]);
    stage.end(request, 'a');
    expect(stage.state.queue).toMatchObject([{ model: 'b' }]);
  });

  it('has nothing to take back of a load that requests or nobody asked for', () => {
    const stage = twoModels();
    expect(reasonAgainst(stage.state, 'withdraw', 'a')).toBe("no load of model 'a' waits that was asked for");
    stage.request('a');
    stage.operator('withdraw', 'a');
    expect(stage.state.queue).toHaveLength(1);
    stage.ready('a');
    expect(reasonAgainst(stage.state, 'withdraw', 'a')).not.toBeNull();
  });
});

describe('parking and waking', () => {
  const parking = (): Stage =>
    new Stage({ parks: true }).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 20 }));
  const asleep = (): Stage => {
    const stage = parking().load('a').operator('park', 'a');
    const { generation } = stage.instance('a');
    return stage.play({ type: 'sleeping', model: 'a', generation });
  };

  it('asks an idle model to leave memory, and counts what it holds until it says that it has', () => {
    const stage = parking().load('a').operator('park', 'a');
    const { generation } = stage.instance('a');
    expect(stage.effects).toContainEqual({ type: 'park', model: 'a', generation });
    expect(stage.phases()).toEqual({ a: 'ready' });
    stage.play({ type: 'sleeping', model: 'a', generation });
    expect(stage.phases()).toEqual({ a: 'sleeping' });
  });

  it.each<[string, (stage: Stage, generation: number) => unknown, string[]]>([
    ['it did neither', () => null, ['a: was told to sleep 15s ago and has not; unload it to have its memory back']],
    ['it fell asleep', (stage, generation) => stage.play({ type: 'sleeping', model: 'a', generation }), []],
    ['somebody uses it', (stage) => stage.request('a'), []],
    ['somebody has used it', (stage) => stage.end(stage.request('a'), 'a'), []],
    ['it was unloaded', (stage) => stage.operator('unload', 'a'), []],
    ['it is another child by now', (stage) => stage.operator('kill', 'a').exit('a').load('a'), []],
  ])('says of a model that was told to sleep that it has not, unless it was used since: %s', (_, meanwhile, said) => {
    const stage = parking().load('a').operator('park', 'a');
    const timed = stage.effects.find((effect) => effect.type === 'arm-timer');
    if (timed?.timer.kind !== 'park') throw new Error('nobody looks after it');
    meanwhile(stage, stage.instance('a').generation);
    stage.play({ type: 'timer', timer: timed.timer }, timed.at - stage.now);
    expect(stage.decisions.map(({ sentence }) => sentence)).toEqual(said);
  });

  it('says why it cannot be: busy, loading, asleep already, or an engine without it', () => {
    const stage = parking();
    expect(reasonAgainst(stage.state, 'park', 'a')).toBe("model 'a' is not loaded");
    const request = stage.request('a');
    expect(reasonAgainst(stage.state, 'park', 'a')).toBe("model 'a' is loading");
    stage.ready('a');
    expect(reasonAgainst(stage.state, 'park', 'a')).toContain('is answering 1 request;');
    stage.end(request, 'a');
    expect(reasonAgainst(stage.state, 'park', 'a')).toBeNull();
    expect(reasonAgainst(asleep().state, 'park', 'a')).toBe("model 'a' is asleep already");
    const other = twoModels().load('a');
    expect(reasonAgainst(other.state, 'park', 'a')).toMatch(/cannot be put to sleep.*\(u\).*--sleep-idle-seconds/);
    expect(other.operator('park', 'a').effects.filter(({ type }) => type === 'park')).toEqual([]);
  });

  it('brings a model back through admission, which makes room for it like for any load', () => {
    const stage = asleep();
    const { generation } = stage.instance('a');
    // Asleep it holds nothing any more, so that another one took its place.
    const card = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 24 * GIB, attributed: true } as const;
    const instances = [{ model: 'a', generation, resident: { CUDA0: 0 } }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [{ ...card, usedBytes: 0 }], instances });
    stage.load('b').operator('wake', 'a');
    expect(stage.did('stop')).toEqual(['b']);
    expect(stage.effects.filter(({ type }) => type === 'wake')).toEqual([]);
    stage.exit('b').sample();
    expect(stage.effects).toContainEqual({ type: 'wake', model: 'a', generation });
    stage.ready('a');
    expect(stage.phases()).toEqual({ a: 'ready' });
    expect(stage.state.queue).toEqual([]);
  });

  it('wakes only what sleeps', () => {
    const stage = parking();
    expect(reasonAgainst(stage.state, 'wake', 'a')).toContain('nothing to wake');
    stage.load('a');
    expect(reasonAgainst(stage.state, 'wake', 'a')).toBe("model 'a' is awake");
    expect(reasonAgainst(asleep().state, 'wake', 'a')).toBeNull();
    expect(reasonAgainst(asleep().state, 'load', 'a')).toContain('and sleeps; wake it');
  });
});
