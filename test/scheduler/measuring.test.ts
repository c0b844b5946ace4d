import { describe, expect, it } from 'vitest';
import type { TimerName } from '../../src/scheduler/events.js';
import { project } from '../../src/scheduler/project.js';
import type { KnownMemory } from '../../src/scheduler/state.js';
import { GIB } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

const MEASURES = { measures: true };

const unmeasured = (): Stage =>
  new Stage(MEASURES)
    .devices({ CUDA0: 24 })
    .catalog(spec('a', { CUDA0: 4 }), spec('b', { CUDA0: 4 }), spec('c', { CUDA0: 4 }));

function measured(stage: Stage, model: string, gib: number | null): Stage {
  const need = gib === null ? null : { CUDA0: gib * GIB };
  const placements = need === null ? null : [{ need, quality: 'min' as const }];
  return stage.play({ type: 'measured', model, fingerprint: `${model} 1`, placements, reason: 'no result' });
}

/** Models that a measuring child was asked for in the latest turn. */
function asked(stage: Stage): readonly string[] {
  return stage.effects.flatMap((effect) => (effect.type === 'measure' ? [effect.model] : []));
}

/** The timer that was armed first in the latest turn. */
function armed(stage: Stage): TimerName {
  const effect = stage.effects.find(({ type }) => type === 'arm-timer');
  if (effect?.type !== 'arm-timer') throw new Error('no timer was armed');
  return effect.timer;
}

describe('measuring', () => {
  it('measures one model at a time, in the order of the catalog', () => {
    const stage = unmeasured();
    expect(asked(stage)).toEqual(['a']);
    expect(stage.state.measureQueue).toEqual(['b', 'c']);
    expect(asked(measured(stage, 'a', 6))).toEqual(['b']);
  });

  it('measures what somebody waits for before the rest, and loads it on the result', () => {
    const stage = unmeasured();
    stage.request('c');
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.state.measureQueue).toEqual(['c', 'b']);
    expect(asked(measured(stage, 'a', 6))).toEqual(['c']);
    measured(stage, 'c', 7);
    expect(stage.did('spawn')).toEqual(['c']);
    expect(stage.instance('c')).toMatchObject({ claim: { CUDA0: 7 * GIB }, claimQuality: 'min' });
  });

  it('stops a measuring child that takes too long, and loads its model on the estimate', () => {
    const stage = unmeasured();
    stage.request('a');
    const since = stage.state.measuring?.since ?? 0;
    const timer = { kind: 'measure-limit', model: 'a', fingerprint: 'a 1', since } as const;
    stage.play({ type: 'timer', timer }, 300_000);
    expect(stage.effects).toContainEqual({ type: 'cancel-measure', model: 'a', fingerprint: 'a 1' });
    expect(stage.did('spawn')).toEqual(['a']);
    expect(stage.instance('a').claimQuality).toBe('estimate');
    expect(stage.model('a').measure).toBe('failed');
  });

  it('tries a failed measurement once more after a load, and then no more', () => {
    const stage = unmeasured();
    stage.request('a');
    measured(measured(measured(stage, 'a', null), 'b', 5), 'c', 5);
    stage.ready('a');
    expect(asked(stage)).toEqual(['a']);
    measured(stage, 'a', null);
    stage.exit('a').sample();
    stage.now += 1000;
    stage.load('a');
    expect(stage.state.measuring).toBeNull();
    expect(stage.model('a').measure).toBe('failed');
  });

  it('tries once more before the next load where the estimate was larger than there is', () => {
    const stage = new Stage(MEASURES).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 30 }));
    measured(stage, 'a', null);
    expect(stage.rejected.get(stage.request('a'))?.code).toBe('model_too_large');
    stage.request('a');
    expect(asked(stage)).toEqual(['a']);
    measured(stage, 'a', 12);
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('keeps what was measured before when it cannot be measured again', () => {
    const stage = measured(unmeasured(), 'a', 6).operator('measure', 'a');
    measured(stage, 'b', 6);
    expect(asked(stage)).toEqual(['a']);
    measured(stage, 'a', null);
    expect(stage.model('a')).toMatchObject({ measure: 'measured', measured: [{ need: { CUDA0: 6 * GIB } }] });
    expect(stage.decisions[0]?.sentence).toMatch(/^a: could not be measured again .* still counts$/);
  });

  it('believes no result that cannot be, and none for other arguments', () => {
    const stage = unmeasured();
    const absurd = [{ need: { CUDA0: Number.NaN }, quality: 'min' as const }];
    stage.play({ type: 'measured', model: 'a', fingerprint: 'a 0', placements: [], reason: '' });
    expect(stage.state.measuring?.model).toBe('a');
    stage.play({ type: 'measured', model: 'a', fingerprint: 'a 1', placements: absurd, reason: '' });
    expect(stage.model('a')).toMatchObject({ measure: 'failed', measured: null });
  });

  it('is cancelled with the model, by new arguments, and by shutdown', () => {
    const stage = unmeasured();
    stage.catalog(spec('a', { CUDA0: 5 }, { fingerprint: 'a 2' }), spec('b', { CUDA0: 4 }), spec('c', { CUDA0: 4 }));
    expect(stage.effects).toContainEqual({ type: 'cancel-measure', model: 'a', fingerprint: 'a 1' });
    stage.catalog(spec('c', { CUDA0: 4 }));
    expect([...stage.state.measureQueue, stage.state.measuring?.model]).toEqual(['c']);
    stage.play({ type: 'shutdown' });
    expect(stage.effects).toContainEqual({ type: 'cancel-measure', model: 'c', fingerprint: 'c 1' });
    expect(stage.state).toMatchObject({ measuring: null, measureQueue: [] });
  });

  it('measures again when the operator says so', () => {
    const stage = new Stage(MEASURES).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 4 }));
    measured(stage, 'a', 6).operator('measure', 'a');
    expect(asked(stage)).toEqual(['a']);
    measured(stage, 'a', 9).request('a');
    expect(stage.instance('a').claim).toEqual({ CUDA0: 9 * GIB });
  });
});

describe('devices that no probe serves', () => {
  const reports = [{ name: 'RPC0', totalBytes: 24 * GIB, freeBytes: 20 * GIB }];

  it('limit nothing until a child has reported them, and count what others use from then on', () => {
    const stage = new Stage(MEASURES).catalog(
      spec('a', { RPC0: 30 }),
      spec('b', { RPC0: 12 }),
      spec('c', { RPC0: 12 }),
    );
    const placements = [{ need: { RPC0: 12 * GIB }, quality: 'min' }] as const;
    expect(stage.state.devices).toEqual({});
    stage.play({ type: 'measured', model: 'a', fingerprint: 'a 1', placements: null, reports, reason: 'too large' });
    expect(stage.state.devices['RPC0']).toMatchObject({ kind: 'remote', externalBytes: 4 * GIB, sample: null });
    stage.play({ type: 'measured', model: 'b', fingerprint: 'b 1', placements, reports, reason: '' });
    stage.play({ type: 'measured', model: 'c', fingerprint: 'c 1', placements, reports, reason: '' });
    expect(stage.rejected.get(stage.request('a'))?.code).toBe('model_too_large');
    stage.request('b');
    expect(stage.did('spawn')).toEqual(['b']);
    const { generation } = stage.instance('b');
    const after = [{ name: 'RPC0', totalBytes: 24 * GIB, freeBytes: 9 * GIB }];
    stage.play({
      type: 'ready',
      model: 'b',
      generation,
      contextTokens: 1,
      effective: { RPC0: 12 * GIB },
      reports: after,
    });
    expect(stage.state.devices['RPC0']?.externalBytes, '24 − 9 free − 12 its own').toBe(3 * GIB);
  });

  it('hold nothing back for a child that has gone: nobody could say that its memory is back', () => {
    const stage = new Stage().catalog(spec('a', { RPC0: 12 }), spec('b', { RPC0: 12 }));
    stage.request('a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: 1, effective: null, reports });
    stage.end('r1', 'a').exit('a', 'crashed');
    expect(stage.state.releases).toEqual([]);
  });
});

describe('what was measured is corrected by what is learnt of every process', () => {
  const corrected = (stage: Stage, model: string, gib: number, fingerprint = `${model} 1`): Stage =>
    stage.play({
      type: 'corrected',
      model,
      fingerprint,
      placements: [{ need: { CUDA0: gib * GIB }, quality: 'min' }],
    });
  const loaded = (): Stage => {
    const stage = unmeasured();
    stage.request('a');
    return measured(stage, 'a', 6).ready('a');
  };

  it('for later loads', () => {
    const stage = measured(unmeasured(), 'a', 6);
    corrected(stage, 'a', 7).request('a');
    expect(stage.instance('a').claim).toEqual({ CUDA0: 7 * GIB });
  });

  it('for an instance that is ready, but never below what it is seen to hold', () => {
    expect(corrected(loaded(), 'a', 5).instance('a')).toMatchObject({
      claim: { CUDA0: 5 * GIB },
      awakeClaim: { CUDA0: 5 * GIB },
    });
    expect(corrected(loaded().sample(), 'a', 5).instance('a').claim).toEqual({ CUDA0: 6 * GIB });
  });

  it('not for one that has said itself what it holds', () => {
    const stage = unmeasured();
    stage.request('a');
    measured(stage, 'a', 6);
    const { generation } = stage.instance('a');
    const effective = { CUDA0: 4 * GIB };
    stage.play({ type: 'ready', model: 'a', generation, contextTokens: null, effective });
    expect(corrected(stage, 'a', 5).instance('a').claim).toEqual(effective);
  });

  it('not for one that is only coming up: others count on the room that it gives up', () => {
    const stage = unmeasured();
    stage.request('a');
    measured(stage, 'a', 6);
    expect(corrected(stage, 'a', 5).instance('a').claim).toEqual({ CUDA0: 6 * GIB });
  });

  it('not for other arguments, nor for a model that was not measured, nor by figures that cannot be', () => {
    const stage = measured(unmeasured(), 'a', 6);
    corrected(stage, 'a', 7, 'a 2');
    corrected(stage, 'a', NaN);
    corrected(stage, 'b', 7);
    corrected(stage, 'nobody', 7);
    expect(stage.model('a').measured).toEqual([{ need: { CUDA0: 6 * GIB }, quality: 'min' }]);
    expect(stage.model('b').measured).toBeNull();
  });

  it('lets a waiter in at once when that makes room', () => {
    const stage = new Stage({ ...MEASURES, marginBytes: GIB })
      .devices({ CUDA0: 12 })
      .catalog(spec('a', { CUDA0: 4 }), spec('b', { CUDA0: 4 }));
    stage.request('a');
    measured(measured(stage, 'a', 6), 'b', 6).ready('a');
    stage.request('b');
    expect(stage.did('spawn')).toEqual([]);
    expect(corrected(stage, 'a', 5).did('spawn')).toEqual(['b']);
  });
});

describe('a measuring child takes room for a moment', () => {
  /** A device of 10 GiB, of which a child that measures takes 1; hardly any margin. */
  function crowded(...models: readonly ReturnType<typeof spec>[]): Stage {
    const settings = { measures: true, marginBytes: 0.1 * GIB };
    return new Stage(settings).devices({ CUDA0: 10 }).catalog(...models);
  }
  const claim = { measureClaim: { CUDA0: GIB } };
  const knownNeed = (gib: number): KnownMemory => {
    return { measured: [{ need: { CUDA0: gib * GIB }, quality: 'min' }], observed: null, loadMillis: null };
  };

  it('which is reserved while it lives, and told apart from what others use', () => {
    const stage = crowded(spec('a', { CUDA0: 4 }, claim));
    expect(project(stage.state).devices[0]).toMatchObject({ reservedBytes: GIB, freeBytes: 9 * GIB });
    const seen = { model: 'a', generation: stage.state.measuring?.generation ?? 0, resident: { CUDA0: 1.5 * GIB } };
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 10 * GIB } as const;
    const devices = [{ ...reading, usedBytes: 3.5 * GIB, attributed: true }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [seen] });
    expect(project(stage.state).devices[0]).toMatchObject({ externalBytes: 2 * GIB, reservedBytes: 1.5 * GIB });
  });

  it('so that a load for which too little is left waits for it, evicts nobody, and goes on after it', () => {
    const known = { known: knownNeed(9.5) };
    const stage = crowded(spec('large', { CUDA0: 9.5 }, known), spec('b', { CUDA0: 4 }, claim));
    stage.request('large');
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.decisions[0]?.sentence).toBe('large: the child that measures b is on CUDA0 for a moment');
    measured(stage, 'b', 4);
    expect(stage.did('spawn'), 'its memory is not back yet').toEqual([]);
    expect(stage.state.queue[0]?.why).toBe('large: waits for what measuring b took to come back');
    stage.sample();
    expect(stage.did('spawn')).toEqual(['large']);
  });

  it('which counts as its own until it is seen to be back: nothing is too large for what a child leaves behind', () => {
    const stage = crowded(spec('a', { CUDA0: 4 }, claim), spec('large', { CUDA0: 9.5 }, { known: knownNeed(9.5) }));
    measured(stage, 'a', 4);
    const reading = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 10 * GIB } as const;
    const devices = [{ ...reading, usedBytes: GIB, attributed: true }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [] });
    expect(project(stage.state).devices[0]).toMatchObject({ externalBytes: 0, releasingBytes: GIB });
    const request = stage.request('large');
    expect(stage.rejected.get(request)).toBeUndefined();
    stage.sample();
    expect(stage.did('spawn')).toEqual(['large']);
  });

  it('also while its model is measured again: each child gives back what it took itself, in its own time', () => {
    const stage = crowded(spec('a', { CUDA0: 4 }, claim), spec('large', { CUDA0: 9.5 }, { known: knownNeed(9.5) }));
    const looks = (usedGib: number, at = stage.now + 1): void => {
      const reading = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 10 * GIB } as const;
      const { model = 'a', generation = 0 } = stage.state.measuring ?? {};
      const devices = [{ ...reading, usedBytes: usedGib * GIB, attributed: true }];
      const instances = stage.state.measuring === null ? [] : [{ model, generation, resident: { CUDA0: GIB } }];
      stage.play({ type: 'sample', takenAt: at, devices, instances }, at - stage.now);
    };
    measured(stage, 'a', 4);
    const first = armed(stage);
    stage.operator('measure', 'a');
    looks(2);
    expect(project(stage.state).devices[0]).toMatchObject({
      externalBytes: 0,
      releasingBytes: GIB,
      reservedBytes: GIB,
    });
    measured(stage, 'a', 4);
    looks(2);
    // The time of the first is over; the second has only just begun to give back.
    stage.play({ type: 'timer', timer: first });
    expect(stage.state.releases.map(({ generation }) => generation)).toEqual([-2]);
    looks(1);
    expect(project(stage.state).devices[0]).toMatchObject({ externalBytes: 0, releasingBytes: GIB });
    expect(stage.rejected.get(stage.request('large'))).toBeUndefined();
    looks(0);
    expect(stage.did('spawn')).toEqual(['large']);
  });

  it('and which a sample of the very moment of its end does not show to be back', () => {
    const stage = crowded(spec('a', { CUDA0: 4 }, claim));
    measured(stage, 'a', 4);
    stage.sample(0);
    expect(project(stage.state).devices[0]).toMatchObject({ releasingBytes: GIB });
    stage.sample();
    expect(project(stage.state).devices[0]).toMatchObject({ releasingBytes: 0 });
  });

  it('so that one which sizes itself to what is free does not begin beside it, nor it beside such a load', () => {
    const sizing = { known: knownNeed(2), contextPinned: false };
    const stage = crowded(
      spec('free', { CUDA0: 2 }, sizing),
      spec('b', { CUDA0: 4 }, claim),
      spec('c', { CUDA0: 4 }, claim),
    );
    stage.request('free');
    expect(stage.did('spawn')).toEqual([]);
    measured(stage, 'b', 4);
    expect(stage.did('spawn')).toEqual(['free']);
    expect(asked(stage), 'c is measured after the load').toEqual([]);
    stage.ready('free');
    expect(asked(stage)).toEqual(['c']);
  });

  it('and where it finds none, a model that somebody waits for is loaded on its estimate; others wait', () => {
    const known = { known: knownNeed(9.5) };
    const stage = crowded(spec('large', { CUDA0: 9.5 }, known)).load('large');
    stage.catalog(spec('large', { CUDA0: 9.5 }, known), spec('b', { CUDA0: 4 }, claim), spec('c', { CUDA0: 4 }, claim));
    expect(asked(stage)).toEqual([]);
    stage.request('b');
    expect(stage.model('b').measure).toBe('failed');
    expect(stage.did('stop'), 'room is made for it').toEqual(['large']);
    expect(stage.state.measureQueue).toEqual(['c']);
  });
});
