import { describe, expect, it } from 'vitest';
import { GIB } from '../../src/scheduler/units.js';
import { exited, spec, Stage } from '../support/stage.js';

/** One card of 24 GiB with 1 GiB of margin: `a` and `b` do not fit together. */
const oneCard = (settings: ConstructorParameters<typeof Stage>[0] = {}): Stage =>
  new Stage(settings)
    .devices({ CUDA0: 24 })
    .catalog(spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 14 }), spec('c', { CUDA0: 14 }), spec('small', { CUDA0: 2 }));

describe('races', () => {
  it('a request for a pinned model that has no room is refused, though its pin goes on waiting', () => {
    const stage = oneCard();
    stage.load('a').operator('pin', 'a').operator('pin', 'b');
    expect(stage.state.queue.map(({ model, wanted }) => [model, wanted])).toEqual([['b', 'pin']]);
    const request = stage.request('b');
    expect(stage.rejected.get(request)?.code).toBe('pinned_models_in_the_way');
    expect(stage.state.queue.map(({ waiters }) => waiters)).toEqual([[]]);
  });

  it('two loads for one device in one instant: the second sees what the first has reserved', () => {
    const stage = oneCard();
    const at = stage.now;
    stage.play({ type: 'request', request: 'x', model: 'a', autoload: true }, 0);
    expect(stage.did('spawn')).toEqual(['a']);
    stage.play({ type: 'request', request: 'y', model: 'b', autoload: true }, 0);
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.now).toBe(at);
    expect(stage.decisions[0]?.sentence).toContain('b: short 5.0 GiB on CUDA0; a is loading');
  });

  it('a model that comes up serves those who waited for it, before it has to leave for an earlier waiter', () => {
    const stage = oneCard({ modelsMax: 1 });
    stage.operator('pin', 'a').ready('a').exit('a', 'crashed').sample();
    const request = stage.request('b');
    expect(stage.did('spawn'), 'the pinned one is not tried again yet').toEqual(['b']);
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 1000);
    expect(stage.decisions[0]?.sentence).toContain('b is loading');
    stage.ready('b');
    expect(stage.granted).toEqual([request]);
    expect(stage.did('stop')).toEqual([]);
    stage.end(request, 'b');
    expect(stage.did('stop')).toEqual(['b']);
  });

  it('a request that arrives between readiness and its own proxying keeps its lease although others want the slot', () => {
    const stage = oneCard({ modelsMax: 1 });
    const first = stage.request('a');
    stage.request('b');
    stage.ready('a');
    expect(stage.granted, 'the lease is taken in the turn of readiness').toEqual([first]);
    expect(stage.did('stop')).toEqual([]);
    const second = stage.request('a');
    expect(stage.granted).toEqual([first, second]);
    stage.end(first, 'a');
    expect(stage.did('stop'), 'the second is still in flight').toEqual([]);
    stage.end(second, 'a');
    expect(stage.did('stop')).toEqual(['a']);
  });

  it('a request for a stopping model waits for the next generation', () => {
    const stage = oneCard();
    stage.load('a').sample();
    stage.request('b');
    expect(stage.did('stop')).toEqual(['a']);
    const late = stage.request('a');
    expect(stage.granted).not.toContain(late);
    expect(stage.state.queue.map(({ model }) => model)).toEqual(['b', 'a']);
    stage.exit('a').sample().ready('b');
    stage.end('r2', 'b');
    stage.exit('b').sample().ready('a');
    expect(stage.granted).toContain(late);
    expect(stage.instance('a').generation).toBe(3);
  });

  it('a child that exits while a new one comes up takes nothing from the new one, and nobody hangs', () => {
    const stage = oneCard();
    const lost = stage.request('a');
    stage.ready('a');
    const { generation } = stage.instance('a');
    stage.exit('a', 'crashed').sample();
    stage.now += 1000;
    const next = stage.request('a');
    stage.ready('a');
    expect(stage.granted).toEqual([lost, next]);
    stage.end(lost, 'a').play(exited('a', generation));
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: 1, effective: { CUDA0: GIB } });
    expect(stage.instance('a')).toMatchObject({ phase: 'ready', leases: [next], claim: { CUDA0: 14 * GIB } });
  });

  it('two waiters whose plans name the same victim: it is stopped once, and both get their turn', () => {
    const stage = oneCard();
    stage.load('a').sample();
    const [first, second] = [stage.request('b'), stage.request('c')];
    expect(stage.state.decisions.filter(({ kind }) => kind === 'evict').map(({ model }) => model)).toEqual(['a']);
    stage.exit('a').sample();
    expect(stage.did('spawn')).toEqual(['b']);
    stage.ready('b');
    expect(stage.did('stop')).toEqual([]);
    stage.end(first, 'b').exit('b').sample();
    expect(stage.did('spawn')).toEqual(['c']);
    stage.ready('c');
    expect(stage.granted).toEqual(['r1', first, second]);
  });

  it('a reload that drops a loading model tells its waiters, stops it, and gives its room back', () => {
    const stage = oneCard();
    const waiting = stage.request('a');
    const next = stage.request('b');
    stage.catalog(spec('b', { CUDA0: 14 }));
    expect(stage.rejected.get(waiting)).toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: "model 'a' was removed from its source while the request waited for it",
    });
    expect(stage.effects).toContainEqual(expect.objectContaining({ type: 'stop', model: 'a', loading: true }));
    expect(stage.did('spawn')).toEqual([]);
    stage.exit('a').sample().ready('b');
    expect(stage.granted).toEqual([next]);
    expect(Object.keys(stage.state.models)).toEqual(['b']);
  });

  it('an exit that is told twice frees nothing twice', () => {
    const stage = oneCard();
    stage.load('a').sample();
    const { generation } = stage.instance('a');
    stage.exit('a', 'crashed');
    stage.play(exited('a', generation));
    expect(stage.state.releases).toHaveLength(1);
    expect(stage.model('a').failures).toBe(1);
    stage.sample().play(exited('a', generation));
    expect(stage.state.releases).toEqual([]);
  });

  it('an unload tells those who wait, lets those in flight end, and serves later ones anew', () => {
    const stage = oneCard();
    const running = stage.request('a');
    stage.ready('a');
    const waiting = stage.request('b');
    stage.operator('unload', 'b');
    expect(stage.rejected.get(waiting)?.code).toBe('model_unloaded');
    stage.operator('unload', 'a');
    expect(stage.did('stop')).toEqual([]);
    const later = stage.request('a');
    stage.end(running, 'a').exit('a').sample().ready('a');
    expect(stage.granted).toEqual([running, later]);
  });

  it('an unload does not wait for ever for what is in flight', () => {
    const stage = oneCard();
    stage.request('a');
    stage.ready('a').operator('unload', 'a');
    const [armed] = stage.effects.filter((effect) => effect.type === 'arm-timer');
    expect(armed).toMatchObject({ at: stage.now + 10_000, timer: { kind: 'drain', model: 'a' } });
    if (armed) stage.play({ type: 'timer', timer: armed.timer }, 10_000);
    expect(stage.did('stop')).toEqual(['a']);
  });

  it('waking is a load: a model at rest waits for room like any other, and others are asked to leave for it', () => {
    const stage = oneCard();
    stage.load('a').play({ type: 'sleeping', model: 'a', generation: stage.instance('a').generation });
    const { generation } = stage.instance('a');
    const rest = [{ model: 'a', generation, resident: { CUDA0: GIB } }];
    const card = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 24 * GIB, attributed: true } as const;
    const sample = { type: 'sample', devices: [{ ...card, usedBytes: GIB }], instances: rest } as const;
    stage.play({ ...sample, takenAt: stage.now + 1 });
    expect(stage.instance('a').claim, 'a model at rest claims what it still holds').toEqual({ CUDA0: GIB });
    const busy = stage.request('b');
    expect(stage.did('spawn')).toEqual(['b']);
    stage.ready('b');
    const waiting = stage.request('a');
    expect(stage.granted).not.toContain(waiting);
    expect(stage.decisions[0]).toMatchObject({ kind: 'wait', passedOver: [{ model: 'b', reason: 'busy' }] });
    stage.end(busy, 'b');
    expect(stage.did('stop')).toEqual(['b']);
    stage.exit('b').sample();
    expect(stage.effects).toContainEqual({ type: 'wake', model: 'a', generation });
    stage.ready('a');
    expect(stage.granted).toContain(waiting);
    expect(stage.instance('a').claim).toEqual({ CUDA0: 14 * GIB });
  });

  it('a model that goes to rest at the moment of a request is woken, not leased asleep', () => {
    const stage = oneCard();
    stage.load('a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'sleeping', model: 'a', generation });
    const request = stage.request('a');
    expect(stage.effects).toContainEqual({ type: 'wake', model: 'a', generation });
    expect(stage.granted).not.toContain(request);
    stage.play({ type: 'sleeping', model: 'a', generation }).ready('a');
    expect(stage.granted).toContain(request);
  });

  it('a model that is pinned while it drains for another one stays', () => {
    const stage = oneCard();
    const running = stage.request('a');
    stage.ready('a');
    stage.request('b');
    const since = stage.state.queue[0]?.since ?? 0;
    stage.play({ type: 'timer', timer: { kind: 'max-wait', model: 'b', since } }, 30_000);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['drain']);
    stage.operator('pin', 'a');
    stage.end(running, 'a');
    expect(stage.did('stop')).toEqual([]);
    expect(stage.phases()).toEqual({ a: 'ready' });
  });

  it('a stop that is on its way is not undone by a late readiness', () => {
    const stage = oneCard();
    stage.request('a');
    const { generation } = stage.instance('a');
    stage.operator('kill', 'a');
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: 1, effective: null });
    expect(stage.phases()).toEqual({ a: 'stopping' });
    expect(stage.granted).toEqual([]);
  });

  it('an old timer finds nothing to do', () => {
    const stage = oneCard();
    stage.load('a');
    const { generation } = stage.instance('a');
    stage.exit('a', 'crashed').sample();
    stage.now += 1000;
    stage.load('a');
    const before = JSON.stringify({ ...stage.state, now: 0 });
    for (const timer of [
      { kind: 'release', model: 'a', generation },
      { kind: 'drain', model: 'a', generation },
      { kind: 'retry', model: 'a' },
      { kind: 'max-wait', model: 'a', since: 0 },
      { kind: 'min-residency', model: 'a', generation },
      { kind: 'queue-timeout', model: 'a', request: 'r1' },
      { kind: 'measure-limit', model: 'a', fingerprint: 'a 1', since: 0 },
    ] as const) {
      stage.play({ type: 'timer', timer });
      expect(stage.effects).toEqual([]);
    }
    expect(JSON.stringify({ ...stage.state, now: 0 })).toBe(before);
  });

  it('what is leaving already is no victim: its room is counted once', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(
        spec('a', { CUDA0: 8 }),
        spec('b', { CUDA0: 8 }),
        spec('idle', { CUDA0: 5 }),
        spec('large', { CUDA0: 20 }),
      );
    stage.load('a').load('idle').request('b');
    stage.ready('b').operator('unload', 'a');
    stage.request('large');
    expect(stage.did('stop'), 'a and idle together would not be enough').toEqual([]);
    expect(stage.decisions[0]).toMatchObject({
      kind: 'wait',
      passedOver: [{ reason: 'stopping' }, { reason: 'busy' }],
    });
  });

  it('a victim that the operator kills while it leaves is stopped once more, and still counts as evicted', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 14 }));
    stage.load('a').request('b');
    expect(stage.instance('a').stopReason).toMatchObject({ kind: 'evicted', by: 'b' });
    stage.operator('kill', 'a');
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.instance('a').stopReason).toMatchObject({ kind: 'evicted', by: 'b' });
  });

  it('a shutdown hurries what is leaving already, and does not change why it leaves', () => {
    const stage = oneCard();
    stage.load('a').operator('unload', 'a').play({ type: 'shutdown' });
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.instance('a').stopReason).toEqual({ kind: 'operator', action: 'unload' });
  });

  it('a model that says it goes to rest while a request is in flight keeps the lease, and stays ready', () => {
    const stage = oneCard();
    const request = stage.request('a');
    stage.ready('a').play({ type: 'sleeping', model: 'a', generation: stage.instance('a').generation });
    expect(stage.instance('a')).toMatchObject({ phase: 'ready', leases: [request] });
  });

  it('the place of a waiting head is kept for it, though it waits for memory', () => {
    const stage = new Stage({ modelsMax: 2 })
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 14 }), spec('small', { CUDA1: 2 }));
    const busy = stage.request('a');
    stage.ready('a').request('b');
    stage.request('small');
    expect(stage.did('spawn'), 'small would take the last place').toEqual([]);
    stage.end(busy, 'a').exit('a').sample();
    expect(stage.did('spawn')).toEqual(['b', 'small']);
  });
});
