import { describe, expect, it } from 'vitest';
import type { DeviceReading } from '../../src/scheduler/events.js';
import type { Model } from '../../src/scheduler/state.js';
import { GIB, type DeviceBytes, type Millis } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

const card = (usedGib: number, attributed: boolean): DeviceReading => ({
  name: 'CUDA0',
  kind: 'discrete',
  description: '',
  totalBytes: 24 * GIB,
  usedBytes: usedGib * GIB,
  attributed,
});

/** A sample in which the model holds so much, and all of it together is so much. */
function look(stage: Stage, heldGib: number, usedGib: number, attributed = true, later: Millis = 1): Stage {
  const { generation } = stage.instance('a');
  const instances = attributed ? [{ model: 'a', generation, resident: { CUDA0: heldGib * GIB } }] : [];
  const devices = [card(usedGib, attributed)];
  return stage.play({ type: 'sample', takenAt: stage.now + later, devices, instances }, later);
}

const loaded = (): Stage =>
  new Stage()
    .devices({ CUDA0: 24 })
    .catalog(spec('a', { CUDA0: 14 }))
    .load('a');
const working = (): Stage => {
  const stage = loaded();
  const request = stage.request('a');
  return stage.end(request, 'a');
};
const sleeping = (stage: Stage): Stage =>
  stage.play({ type: 'sleeping', model: 'a', generation: stage.instance('a').generation });
const remembered = ({ effects }: Stage): readonly (DeviceBytes | undefined)[] =>
  effects.flatMap((effect) => (effect.type === 'remember' ? [effect.rested] : []));

describe('what a model is seen to hold at rest', () => {
  it('is remembered once it has given back what it does not keep', () => {
    const stage = sleeping(loaded());
    look(stage, 13, 13);
    expect([stage.model('a').rested, remembered(stage)]).toEqual([null, []]);
    look(stage, 1, 1, true, 2000);
    expect([stage.model('a').rested, remembered(stage)]).toEqual([{ CUDA0: GIB }, [{ CUDA0: GIB }]]);
    expect(stage.instance('a').claim).toEqual({ CUDA0: GIB });
    look(stage, 1, 9);
    expect(remembered(stage), 'what others do there is no news of it').toEqual([]);
  });

  it('is known again in the next run', () => {
    const known = { measured: null, observed: null, rested: { CUDA0: GIB }, loadMillis: 5 };
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 14 }, { known }));
    expect(stage.model('a').rested).toEqual({ CUDA0: GIB });
  });

  it('is nothing that was seen while it was awake, or on its way out', () => {
    const stage = look(working(), 13, 13, true, 60_000);
    expect(stage.model('a').rested).toBe(null);
    sleeping(stage).operator('unload', 'a');
    look(stage, 3, 3, true, 60_000);
    expect(stage.model('a').rested).toBe(null);
  });
});

describe('what a model is seen to hold at work', () => {
  it('is not learnt before it has settled: a part of it is not taken for the whole', () => {
    const stage = look(working(), 5, 5);
    expect([stage.model('a').observed, stage.instance('a').claim]).toEqual([null, { CUDA0: 14 * GIB }]);
    look(stage, 13, 13, true, 2000);
    expect(stage.model('a').observed).toEqual({ CUDA0: 13 * GIB });
  });

  it('is not learnt just after it woke either', () => {
    const stage = sleeping(loaded());
    const request = stage.request('a');
    stage.ready('a', 5000).end(request, 'a');
    look(stage, 5, 5);
    expect(stage.model('a').observed).toBe(null);
    look(stage, 13, 13, true, 2000);
    expect(stage.model('a').observed).toEqual({ CUDA0: 13 * GIB });
  });

  it('counts at once where it is more than was expected', () => {
    const stage = look(working(), 17, 17);
    expect(stage.instance('a').claim).toEqual({ CUDA0: 17 * GIB });
    stage.exit('a', 'killed').sample();
    stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } }, 2000).request('a');
    expect(stage.instance('a').claim).toEqual({ CUDA0: 17 * GIB });
  });
});

describe('an instance that was started with other arguments than its model has now', () => {
  const changed = spec('a', { CUDA0: 20 }, { fingerprint: 'a 2' });
  const nothing = { observed: null, rested: null, raised: null };
  const learnt = ({ observed, rested, raised }: Model): object => ({ observed, rested, raised });
  const outdated = (): Stage => {
    const stage = working();
    stage.request('a');
    return stage.catalog(changed);
  };

  it('teaches nothing of the next one while it ends its requests', () => {
    const stage = look(outdated(), 13, 13, true, 60_000);
    expect(learnt(stage.model('a'))).toEqual(nothing);
    look(stage, 16, 16);
    expect(learnt(stage.model('a'))).toEqual(nothing);
    expect(stage.instance('a').claim, 'it is counted all the same').toEqual({ CUDA0: 16 * GIB });
    expect(stage.effects).toEqual([]);
  });

  it('teaches nothing by running out of memory', () => {
    const stage = outdated().exit('a', 'out-of-memory', { device: 'CUDA0', askedBytes: 9 * GIB });
    expect(learnt(stage.model('a'))).toEqual(nothing);
  });
});

describe('a sample that cannot tell processes apart', () => {
  it('teaches nothing of a model: what another program takes meanwhile would be taken for its own', () => {
    const stage = working();
    look(stage, 0, 20, false, 5000);
    expect([stage.model('a').observed, stage.instance('a').claim]).toEqual([null, { CUDA0: 14 * GIB }]);
    sleeping(stage);
    look(stage, 0, 12, false, 5000);
    expect([stage.model('a').rested, stage.instance('a').claim]).toEqual([null, { CUDA0: 14 * GIB }]);
    expect(remembered(stage)).toEqual([]);
  });

  it('does not change what was learnt before', () => {
    const stage = look(working(), 15, 15, true, 5000);
    expect(stage.model('a').observed).toEqual({ CUDA0: 15 * GIB });
    look(stage, 0, 22, false, 1000);
    expect(stage.model('a').observed).toEqual({ CUDA0: 15 * GIB });
    look(stage, 14, 20, true, 1000);
    expect(stage.model('a').observed, 'the others are others again').toEqual({ CUDA0: 15 * GIB });
  });
});

describe('what a model was seen to keep at rest, where nobody can see it now', () => {
  const OTHERS = 2;
  const known = { measured: null, observed: null, rested: { CUDA0: GIB }, loadMillis: 5 };
  /** All that is known of the card is that so much of it is in use. */
  const total = (stage: Stage, gib: number, later: Millis = 1): Stage =>
    stage.play({ type: 'sample', takenAt: stage.now + later, devices: [card(gib, false)], instances: [] }, later);
  const inGib = (stage: Stage): readonly number[] =>
    [stage.instance('a').claim['CUDA0'] ?? 0, stage.state.devices['CUDA0']?.externalBytes ?? 0].map(
      (bytes) => bytes / GIB,
    );
  const asleep = (): Stage => {
    const stage = total(new Stage(), OTHERS).catalog(spec('a', { CUDA0: 14 }, { known }), spec('b', { CUDA0: 12 }));
    return sleeping(total(stage.load('a'), OTHERS + 14));
  };

  it('is its claim, once it has had time to give back the rest', () => {
    const stage = asleep();
    expect(inGib(total(stage, OTHERS + 14))).toEqual([14, OTHERS]);
    expect(inGib(total(stage, OTHERS + 1, 1000))).toEqual([14, OTHERS]);
    expect(inGib(total(stage, OTHERS + 1, 1000))).toEqual([1, OTHERS]);
  });

  it('lets another model in beside it, and is counted whole again when it wakes', () => {
    const stage = total(asleep(), OTHERS + 1, 2000);
    const request = stage.request('b');
    expect([stage.did('spawn'), stage.did('stop')]).toEqual([['b'], []]);
    stage.ready('b').end(request, 'b');
    total(stage, OTHERS + 1 + 12);
    stage.request('a');
    expect([stage.did('stop'), stage.decisions[0]?.ledger[0]?.needBytes]).toEqual([['b'], 13 * GIB]);
    stage.exit('b');
    total(stage, OTHERS + 1);
    expect(stage.effects.some((effect) => effect.type === 'wake' && effect.model === 'a')).toBe(true);
    stage.ready('a');
    expect(inGib(total(stage, OTHERS + 14))).toEqual([14, OTHERS]);
  });

  it('gives nothing away that is in use', () => {
    const stage = asleep();
    expect(inGib(total(stage, OTHERS + 4, 2000)), 'it keeps more this time').toEqual([14, OTHERS]);
    expect(inGib(total(stage, OTHERS + 1, 1000)), 'it was only late').toEqual([1, OTHERS]);
    expect(inGib(total(stage, OTHERS + 6, 1000)), 'somebody else has come').toEqual([1, OTHERS + 5]);
    stage.request('a');
    expect(stage.instance('a').awakeClaim).toEqual({ CUDA0: 14 * GIB });
  });

  it('makes others no smaller where it was more than it is now', () => {
    const more = { ...known, rested: { CUDA0: 6 * GIB } };
    const stage = total(new Stage(), OTHERS).catalog(spec('a', { CUDA0: 14 }, { known: more }));
    sleeping(total(stage.load('a'), OTHERS + 14));
    expect(inGib(total(stage, OTHERS + 1, 2000))).toEqual([6, OTHERS]);
  });

  it('stays known through a rest in which other devices are seen', () => {
    const stage = asleep();
    const { generation } = stage.instance('a');
    const host = { ...card(1, true), name: 'Host', kind: 'host' } as const;
    stage.play(
      {
        type: 'sample',
        takenAt: stage.now + 2000,
        devices: [card(3, false), host],
        instances: [{ model: 'a', generation, resident: { Host: GIB } }],
      },
      2000,
    );
    expect(stage.model('a').rested).toEqual({ CUDA0: GIB, Host: GIB });
    expect(inGib(stage)).toEqual([1, OTHERS]);
  });

  it('is not made up where it was never seen', () => {
    const stage = total(new Stage(), OTHERS).catalog(spec('a', { CUDA0: 14 }));
    sleeping(total(stage.load('a'), OTHERS + 14));
    expect(inGib(total(stage, OTHERS + 1, 60_000))).toEqual([14, OTHERS]);
  });
});
