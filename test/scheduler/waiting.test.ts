import { describe, expect, it } from 'vitest';
import type { Settings } from '../../src/scheduler/state.js';
import { GIB } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

/** One card of 24 GiB with 1 GiB of margin: no two of the large ones fit together. */
const oneCard = (settings: Partial<Settings> = {}): Stage =>
  new Stage(settings)
    .devices({ CUDA0: 24 })
    .catalog(spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 14 }), spec('c', { CUDA0: 14 }), spec('small', { CUDA0: 2 }));

describe('waiting, and not', () => {
  it('leaves a record of every refusal, whatever its reason', () => {
    const stage = new Stage({ queueMax: 1 })
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 2 }), spec('b', { CUDA0: 2 }));
    stage.request('a');
    const full = stage.request('b');
    expect(stage.decisions).toMatchObject([
      {
        kind: 'refuse',
        model: 'b',
        asker: { request: full },
        sentence: 'b: as many requests as may wait are waiting already (--queue-max 1)',
      },
    ]);
    expect(stage.rejected.get(full)?.decision).toBe(stage.decisions[0]?.number);
    stage.operator('block', 'b');
    const blocked = stage.request('b');
    expect(stage.decisions).toMatchObject([
      { kind: 'refuse', sentence: 'b: is blocked by the operator; unblock it first' },
    ]);
    expect(stage.rejected.get(blocked)?.decision).toBe(stage.decisions[0]?.number);
  });

  it('says who is in the way, and only counts those who are elsewhere', () => {
    const small = ['x', 'y', 'z'].map((id) => spec(id, { CUDA1: 2 }));
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(spec('a', { CUDA0: 16 }), spec('b', { CUDA0: 16 }), ...small);
    for (const { id } of small) stage.load(id);
    stage.load('a').request('a');
    stage.request('b');
    expect(stage.decisions[0]?.sentence).toBe('b: short 9.0 GiB on CUDA0; a is busy (1), 3 others are not on CUDA0');
  });

  it('is not loaded for a pin either, before it is unblocked', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }));
    stage.operator('block', 'a').operator('pin', 'a');
    expect(stage.model('a').pinned).toBe(false);
    stage.catalog(spec('a', { CUDA0: 10 }, { pinned: true }));
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.operator('unblock', 'a').did('spawn')).toEqual(['a']);
  });

  it('--admission refuse tells at once who is in the way, instead of waiting for them', () => {
    const stage = oneCard({ admission: 'refuse' });
    stage.request('a');
    stage.ready('a');
    const request = stage.request('b');
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'models_busy' });
    expect(stage.rejected.get(request)?.message).toContain('a is busy (1)');
    expect(stage.rejected.get(request)?.retryAfterSeconds).toBeGreaterThan(0);
    expect(stage.state.queue).toEqual([]);
  });

  it('--admission refuse still evicts who is idle, and waits for it to go', () => {
    const stage = oneCard({ admission: 'refuse' });
    stage.load('a').sample();
    const request = stage.request('b');
    expect(stage.did('stop')).toEqual(['a']);
    stage.exit('a').sample().ready('b');
    expect(stage.granted).toContain(request);
  });

  it('--admission proceed loads with a warning where others would wait, and says that it did', () => {
    const stage = oneCard({ admission: 'proceed' });
    stage.request('a');
    stage.ready('a');
    stage.request('b');
    expect(stage.did('spawn')).toEqual(['b']);
    expect(stage.decisions[0]).toMatchObject({ kind: 'admit', proceeded: true });
    expect(stage.decisions[0]?.sentence).toContain('loaded all the same (--admission proceed)');
    expect(stage.instance('b').beyondLimits).toBe(true);
  });

  it('--admission proceed loads even what could never fit', () => {
    const stage = new Stage({ admission: 'proceed' }).devices({ CUDA0: 24 }).catalog(spec('huge', { CUDA0: 40 }));
    stage.request('huge');
    expect(stage.did('spawn')).toEqual(['huge']);
  });

  it('a young model is spared until it has come of age', () => {
    const stage = oneCard({ minResidencyMillis: 20_000 });
    stage.load('a').sample();
    stage.request('b');
    expect(stage.did('stop')).toEqual([]);
    expect(stage.decisions[0]?.passedOver).toEqual([{ model: 'a', reason: 'too young', requests: 0 }]);
    const armed = stage.effects.find((effect) => effect.type === 'arm-timer' && effect.timer.kind === 'min-residency');
    expect(armed).toMatchObject({ at: (stage.instance('a').readyAt ?? 0) + 20_000 });
    if (armed?.type === 'arm-timer') stage.play({ type: 'timer', timer: armed.timer }, armed.at - stage.now);
    expect(stage.did('stop')).toEqual(['a']);
  });

  it('a young model is not spared at the cost of somebody who has waited for long', () => {
    const stage = oneCard({ minResidencyMillis: 60_000, maxWaitMillis: 5000 });
    stage.load('a').sample();
    stage.request('b');
    const since = stage.state.queue[0]?.since ?? 0;
    stage.play({ type: 'timer', timer: { kind: 'max-wait', model: 'b', since } }, 5000);
    expect(stage.did('stop')).toEqual(['a']);
  });

  it.each([
    [
      'its client leaves',
      (stage: Stage, request: string) => stage.play({ type: 'request-ended', request, model: 'b' }),
    ],
    ['the operator unloads it', (stage: Stage) => stage.operator('unload', 'b')],
  ])('a busy model that was to leave for another stays when %s, and takes requests again', (_, withdraw) => {
    const stage = oneCard({ maxWaitMillis: 5000 });
    stage.request('a');
    stage.ready('a').sample();
    const waiting = stage.request('b');
    const since = stage.state.queue[0]?.since ?? 0;
    stage.play({ type: 'timer', timer: { kind: 'max-wait', model: 'b', since } }, 5000);
    expect(stage.instance('a').draining).toMatchObject({ kind: 'evicted', by: 'b' });
    const later = stage.request('a');
    expect(stage.granted).not.toContain(later);
    withdraw(stage, waiting);
    expect(stage.instance('a').draining).toBe(null);
    expect(stage.decisions.at(-1)?.sentence).toBe('a: stays, since b no longer waits for it to leave');
    expect(stage.granted).toContain(later);
  });

  it('a model of lower priority leaves first, even if it was used last', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('dear', { CUDA0: 9 }, { priority: 1 }), spec('cheap', { CUDA0: 9 }), spec('c', { CUDA0: 9 }));
    stage.load('dear').load('cheap');
    stage.request('c');
    expect(stage.did('stop')).toEqual(['cheap']);
  });

  it('the cost policy lets go of what is soon back, though another was used longer ago', () => {
    const stage = new Stage({ policy: 'cost' })
      .devices({ CUDA0: 24 })
      .catalog(spec('slow', { CUDA0: 9 }), spec('quick', { CUDA0: 9 }), spec('c', { CUDA0: 9 }));
    const first = stage.request('slow');
    stage.ready('slow', 60_000).end(first, 'slow');
    const second = stage.request('quick');
    stage.ready('quick', 1000).end(second, 'quick');
    stage.now += 5000;
    stage.request('c');
    expect(stage.did('stop')).toEqual(['quick']);
  });

  it('the policy that looks at no device lets go of bystanders, which ours does not', () => {
    const play = (policy: Settings['policy']): readonly string[] => {
      const stage = new Stage({ policy })
        .devices({ CUDA0: 24, CUDA1: 24 })
        .catalog(spec('bystander', { CUDA1: 9 }), spec('a', { CUDA0: 14 }), spec('b', { CUDA0: 14 }));
      stage.load('bystander').load('a').request('b');
      return stage.did('stop');
    };
    expect(play('lru-any-device')).toEqual(['bystander', 'a']);
    expect(play('lru')).toEqual(['a']);
  });

  it('a request that has waited as long as one may is told why, and its place goes', () => {
    const stage = oneCard({ queueTimeoutMillis: 10_000 });
    const busy = stage.request('a');
    stage.ready('a');
    const request = stage.request('b');
    stage.play({ type: 'timer', timer: { kind: 'queue-timeout', model: 'b', request } }, 10_000);
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'queue_timeout' });
    expect(stage.rejected.get(request)?.message).toContain('a is busy (1)');
    expect(stage.state.queue).toEqual([]);
    stage.end(busy, 'a');
    expect(stage.did('stop'), 'nobody wants b any more').toEqual([]);
  });

  it('more waiters than may wait are refused at once', () => {
    const stage = oneCard({ queueMax: 1 });
    stage.request('a');
    const second = stage.request('a');
    expect(stage.rejected.get(second)).toMatchObject({ status: 503, code: 'queue_full' });
  });

  it('a margin that the operator sets decides from then on, and stays', () => {
    const stage = oneCard();
    stage.play({ type: 'margin', device: 'CUDA0', marginBytes: 12 * GIB });
    const request = stage.request('a');
    expect(stage.rejected.get(request)?.code).toBe('model_too_large');
    stage.play({ type: 'configured', settings: { ...stage.state.settings, marginBytes: GIB } });
    expect(stage.state.devices['CUDA0']?.marginBytes).toBe(12 * GIB);
    stage.play({ type: 'margin', device: 'CUDA0', marginBytes: 0 });
    stage.request('a');
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('a smaller margin lets a waiter in at once', () => {
    const stage = oneCard();
    stage.request('a');
    stage.ready('a');
    stage.play({ type: 'margin', device: 'CUDA0', marginBytes: 9 * GIB });
    stage.request('small');
    expect(stage.did('spawn')).toEqual([]);
    stage.play({ type: 'margin', device: 'CUDA0', marginBytes: GIB });
    expect(stage.did('spawn')).toEqual(['small']);
  });

  it('a model at rest is asked to leave only where what it still holds helps', () => {
    const stage = oneCard();
    stage.load('a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'sleeping', model: 'a', generation });
    const card = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 24 * GIB, attributed: true } as const;
    const instances = [{ model: 'a', generation, resident: { CUDA0: 0 } }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices: [{ ...card, usedBytes: 0 }], instances });
    stage.request('b');
    expect(stage.did('spawn'), 'it gave everything up by itself').toEqual(['b']);
    stage.request('c');
    expect(stage.decisions[0]?.passedOver).toContainEqual({ model: 'a', reason: 'not on this device', requests: 0 });
  });
});
