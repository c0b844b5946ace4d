import { describe, expect, it } from 'vitest';
import type { Settings } from '../../src/scheduler/state.js';
import { projectModel } from '../../src/scheduler/project.js';
import { GIB } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

describe('admission', () => {
  it('loads what fits and reserves its room in the same turn', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 14 }));
    stage.request('a');
    expect(stage.did('spawn')).toEqual(['a']);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['admit']);
    stage.request('b');
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.state.queue.map(({ model }) => model)).toEqual(['a', 'b']);
  });

  it('counts what others use, and keeps the margin free', () => {
    const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 4 }).catalog(spec('a', { CUDA0: 20 }));
    const request = stage.request('a');
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'model_too_large' });
    expect(stage.decisions[0]?.sentence).toBe(
      'a: needs 20.0 GiB on CUDA0, more than there is with nothing else loaded: ' +
        '19.0 GiB on CUDA0 (of 24.0 GiB, 4.0 GiB used by others, 1.0 GiB margin)',
    );
  });

  describe('where other programs have only just taken the room', () => {
    const taken = (settings: Partial<Settings> = {}): Stage => {
      const stage = new Stage(settings)
        .devices({ CUDA0: 24, CUDA1: 24 })
        .catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA1: 20 }), spec('c', { CUDA1: 20 }));
      return stage.load('b').devices({ CUDA0: 24, CUDA1: 24 }, { CUDA0: 6 });
    };

    it('waits until they have gone', () => {
      const stage = taken();
      const request = stage.request('a');
      expect(stage.decisions.map(({ kind, sentence }) => `${kind} ${sentence}`)).toEqual([
        'wait a: needs 20.0 GiB on CUDA0, and other programs have just taken the room for it: ' +
          '17.0 GiB on CUDA0 (of 24.0 GiB, 6.0 GiB used by others, 1.0 GiB margin)',
      ]);
      stage.sample(5000);
      expect(stage.rejected.get(request)).toBe(undefined);
      expect(stage.devices({ CUDA0: 24, CUDA1: 24 }).did('spawn')).toEqual(['a']);
    });

    it('but not for ever, and tells whoever waited when to come back', () => {
      const stage = taken();
      const request = stage.request('a');
      const timer = stage.effects.find((effect) => effect.type === 'arm-timer' && effect.timer.kind === 'retry');
      if (timer?.type !== 'arm-timer') throw new Error('nothing would end the wait');
      stage.play({ type: 'timer', timer: timer.timer }, timer.at - stage.now);
      expect(stage.rejected.get(request)).toMatchObject({ code: 'model_too_large', retryAfterSeconds: 30 });
      expect(stage.rejected.get(stage.request('a')), 'they are known to stay').toMatchObject({
        code: 'model_too_large',
      });
    });

    it('holds nobody up meanwhile, who may even have others evicted', () => {
      const stage = taken();
      stage.request('a');
      stage.request('c');
      expect(stage.did('stop')).toEqual(['b']);
    });

    it('refuses at once where nobody is to wait, or the model could never fit', () => {
      const refusing = taken({ admission: 'refuse' });
      expect(refusing.rejected.get(refusing.request('a'))?.code).toBe('model_too_large');
      const stage = taken();
      stage.catalog(spec('a', { CUDA0: 25 }));
      expect(stage.rejected.get(stage.request('a'))).toMatchObject({
        code: 'model_too_large',
        retryAfterSeconds: null,
      });
    });
  });

  it('says of a model that fits nowhere where it lacks least', () => {
    const stage = new Stage().devices({ CUDA0: 24, CUDA1: 12 }).catalog({
      ...spec('a', {}),
      placements: [
        { need: { CUDA1: 30 * GIB }, quality: 'min' },
        { need: { CUDA0: 24 * GIB }, quality: 'min' },
      ],
    });
    stage.request('a');
    expect(stage.decisions[0]?.sentence).toBe(
      'a: needs 24.0 GiB on CUDA0, more than there is with nothing else loaded: ' +
        '23.0 GiB on CUDA0 (of 24.0 GiB, 1.0 GiB margin); every other way to place it lacks more',
    );
  });

  it('names what is available in the order of what is needed, each with its device', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 12, Host: 64 })
      .catalog(spec('a', { CUDA0: 3, Host: 2, CUDA1: 8 }));
    stage.request('a');
    expect(stage.decisions[0]?.sentence).toBe(
      'a: needs about 8.0 GiB on CUDA1, 3.0 GiB on CUDA0 and 2.0 GiB on Host; ' +
        '11.0 GiB on CUDA1, 23.0 GiB on CUDA0 and 64.0 GiB on Host available',
    );
  });

  it('lets a margin of 0 switch the limit off', () => {
    const stage = new Stage({ marginBytes: 0 }).devices({ CUDA0: 8 }).catalog(spec('a', { CUDA0: 20 }));
    stage.request('a');
    expect(stage.did('spawn')).toEqual(['a']);
  });

  it('limits system memory only where there is no other device', () => {
    const alone = new Stage().devices({ Host: 8 }).catalog(spec('a', { Host: 20 }));
    expect(alone.rejected.get(alone.request('a'))?.code).toBe('model_too_large');
    const beside = new Stage().devices({ CUDA0: 8, Host: 8 }).catalog(spec('a', { Host: 20 }));
    beside.request('a');
    expect(beside.did('spawn')).toEqual(['a']);
  });

  it('evicts the least recently used on the device that is short, and nobody elsewhere', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(spec('old', { CUDA1: 10 }), spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 10 }), spec('c', { CUDA0: 8 }));
    stage.load('old').load('a').load('b');
    stage.request('c');
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.decisions).toHaveLength(1);
    expect(stage.decisions[0]).toMatchObject({
      kind: 'evict',
      model: 'a',
      forModel: 'c',
      passedOver: [
        { model: 'old', reason: 'not on this device' },
        { model: 'b', reason: 'not needed' },
      ],
    });
    expect(stage.decisions[0]?.sentence).toMatch(
      /^a for c: least recently used on CUDA0 \(idle \ds\), gives 10.0 GiB on CUDA0, short 5.0 GiB/,
    );
  });

  it('gives back whoever turned out not to be needed', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('small', { CUDA0: 2 }), spec('large', { CUDA0: 18 }), spec('c', { CUDA0: 16 }));
    stage.load('small').load('large');
    stage.request('c');
    expect(stage.did('stop')).toEqual(['large']);
  });

  it('sets the room aside until the victim is gone and its memory is seen to be back', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }), spec('c', { CUDA0: 2 }));
    stage.load('a').sample();
    stage.request('b');
    stage.request('c');
    expect(stage.did('spawn'), 'c would take room that is set aside for b').toEqual([]);
    stage.exit('a');
    expect(stage.did('spawn'), 'memory of a dead process comes back later').toEqual([]);
    expect(stage.state.releases).toHaveLength(1);
    stage.sample();
    expect(stage.did('spawn')).toEqual(['b', 'c']);
  });

  it('writes memory off that does not come back in time, and says so', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }));
    stage.load('a').sample();
    const { generation } = stage.instance('a');
    stage.request('b');
    stage.exit('a');
    const card = { name: 'CUDA0', kind: 'discrete', description: '', totalBytes: 24 * GIB, attributed: true } as const;
    const devices = [{ ...card, usedBytes: 20 * GIB }];
    stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances: [] });
    stage.play({ type: 'timer', timer: { kind: 'release', model: 'a', generation } }, 5000);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['notice', 'admit']);
  });

  it('never evicts a busy, loading or pinned instance', () => {
    const models = [spec('busy', { CUDA0: 7 }), spec('loading', { CUDA0: 7 }), spec('pinned', { CUDA0: 7 })];
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(...models, spec('d', { CUDA0: 7 }));
    stage.load('pinned').operator('pin', 'pinned');
    stage.request('busy');
    stage.ready('busy');
    stage.request('loading');
    stage.request('d');
    expect(stage.did('stop')).toEqual([]);
    const [wait] = stage.decisions;
    expect(wait?.kind).toBe('wait');
    expect(wait?.passedOver.map(({ reason }) => reason)).toEqual(['busy', 'loading', 'pinned']);
  });

  it('refuses at once when only pinned models are in the way, naming them', () => {
    const stage = new Stage({ modelsMax: 1 })
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 2 }), spec('b', { CUDA0: 2 }));
    stage.load('a').operator('pin', 'a');
    const request = stage.request('b');
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'pinned_models_in_the_way' });
    expect(stage.rejected.get(request)?.message).toContain('pinned a is in the way');
  });

  it('waits for a busy model when there is one place only, and swaps when it is done', () => {
    const stage = new Stage({ modelsMax: 1 })
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 2 }), spec('b', { CUDA0: 2 }));
    const first = stage.request('a');
    stage.ready('a');
    const second = stage.request('b');
    expect(stage.decisions[0]?.sentence).toBe('b: the only place is taken (--models-max 1); a is busy (1)');
    stage.end(first, 'a');
    expect(stage.did('stop')).toEqual(['a']);
    stage.exit('a').sample();
    expect(stage.did('spawn')).toEqual(['b']);
    stage.ready('b');
    expect(stage.granted).toEqual([first, second]);
  });

  it('makes a busy model give way once somebody has waited long enough', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }));
    const first = stage.request('a');
    stage.ready('a');
    stage.request('b');
    const { since } = stage.state.queue[0] ?? { since: 0 };
    stage.play({ type: 'timer', timer: { kind: 'max-wait', model: 'b', since } }, 30_000);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['drain']);
    // It is either on its way out or passed over, never both, and who answers somebody is not idle.
    expect(stage.decisions[0]).toMatchObject({ plan: [{ model: 'a', idleMillis: 0, requests: 1 }], passedOver: [] });
    expect(projectModel(stage.state, 'a')).toMatchObject({ draining: true, lastStop: { kind: 'evicted', by: 'b' } });
    const third = stage.request('a');
    expect(stage.granted, 'a draining model takes no new lease').not.toContain(third);
    expect(stage.state.queue.map(({ model }) => model)).toEqual(['b', 'a']);
    stage.end(first, 'a');
    expect(stage.did('stop')).toEqual(['a']);
  });

  it('says at every moment whom it then waits for, and tells of it once', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('idle', { CUDA0: 8 }), spec('busy', { CUDA0: 12 }), spec('large', { CUDA0: 16 }));
    const why = (): string | undefined => stage.state.queue.find(({ model }) => model === 'large')?.why;
    stage.load('idle');
    const requests = [stage.request('busy'), stage.request('busy')] as const;
    stage.ready('busy').request('large');
    expect(why()).toBe('large: short 13.0 GiB on CUDA0; busy is busy (2)');
    stage.end(requests[0], 'busy');
    expect(why()).toBe('large: short 13.0 GiB on CUDA0; busy is busy (1)');
    const { since } = stage.state.queue[0] ?? { since: 0 };
    stage.play({ type: 'timer', timer: { kind: 'max-wait', model: 'large', since } }, 30_000);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['drain']);
    expect(why()).toBe('large: waits for busy to leave after its current 1');
    stage.sample();
    expect(stage.decisions).toMatchObject([
      { kind: 'evict', model: 'idle', passedOver: [{ model: 'busy', reason: 'stopping', requests: 1 }] },
    ]);
    expect(stage.decisions[0]?.sentence).toMatch(/, short 1\.0 GiB on CUDA0 besides what leaves already$/u);
    expect(why()).toBe('large: waits for idle to leave and busy to leave after its current 1');
    const told = stage.state.decisions.length;
    stage.exit('idle');
    expect(why()).toBe('large: waits for busy to leave after its current 1 and the memory of idle to come back');
    stage.sample();
    expect(why()).toBe('large: waits for busy to leave after its current 1');
    stage.end(requests[1], 'busy');
    expect(why()).toBe('large: waits for busy to leave');
    stage.exit('busy');
    expect(why()).toBe('large: waits for the memory of busy to come back');
    stage.sample();
    expect(why()).toBe('large: loading');
    const kinds = stage.state.decisions.slice(told).map(({ kind }) => kind);
    expect(kinds, 'nothing of that was a decision').toEqual(['exit', 'release', 'exit', 'release', 'admit']);
  });

  it('lets a small model go first into room that the head does not need, but not for ever', () => {
    const small = Array.from({ length: 10 }, (_, i) => spec(`s${i}`, { CUDA1: 1 }));
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }), ...small);
    stage.request('a');
    stage.ready('a');
    stage.request('b');
    for (const { id } of small) stage.request(id);
    expect(Object.keys(stage.phases())).toHaveLength(1 + 8);
    expect(stage.state.decisions.filter(({ kind }) => kind === 'backfill')).toHaveLength(8);
  });

  it('prefers the way to lay a model out that fits, then the one that takes least from others', () => {
    const either = (id: string, gib: number): ReturnType<typeof spec> =>
      spec(
        id,
        {},
        { placements: ['CUDA0', 'CUDA1'].map((device) => ({ need: { [device]: gib * GIB }, quality: 'estimate' })) },
      );
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(either('a', 20), either('b', 10), either('c', 20));
    stage.request('a');
    expect(stage.effects[0]).toMatchObject({ type: 'spawn', devices: ['CUDA0'] });
    stage.ready('a').end('r1', 'a');
    stage.request('b');
    expect(stage.effects[0]).toMatchObject({ type: 'spawn', devices: ['CUDA1'] });
    stage.ready('b').end('r2', 'b');
    stage.request('c');
    expect(stage.did('stop')).toEqual(['b']);
  });

  it('leaves the processor to what no other device can take, however full those are now', () => {
    const anywhere = (id: string, gib: number): ReturnType<typeof spec> =>
      spec(
        id,
        {},
        { placements: ['CUDA0', 'Host'].map((device) => ({ need: { [device]: gib * GIB }, quality: 'estimate' })) },
      );
    const stage = new Stage()
      .devices({ CUDA0: 24, Host: 64 })
      .catalog(anywhere('a', 20), anywhere('b', 10), anywhere('giant', 30));
    stage.request('a');
    expect(stage.effects[0]).toMatchObject({ type: 'spawn', devices: ['CUDA0'] });
    stage.request('b');
    expect(stage.did('spawn'), 'a is loading: b waits for it').toEqual([]);
    stage.ready('a').end('r1', 'a');
    expect(stage.did('stop')).toEqual(['a']);
    stage.request('giant');
    expect(stage.effects.find(({ type }) => type === 'spawn')).toMatchObject({ model: 'giant', devices: [] });
    expect(stage.decisions.at(-1)?.sentence).toContain('needs about 30.0 GiB on Host; no other device is large enough');
  });

  it('lets only one child at a time size itself to the free memory of a device', () => {
    const open = { contextPinned: false };
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 4 }, open), spec('b', { CUDA0: 4 }, open), spec('c', { CUDA0: 4 }));
    stage.request('a');
    stage.request('b');
    expect(stage.did('spawn')).toEqual([]);
    stage.request('c');
    expect(stage.did('spawn'), 'a pinned context may load beside it').toEqual(['c']);
    stage.ready('a');
    expect(stage.did('spawn')).toEqual(['b']);
  });

  it('waits for a load that sizes itself rather than evict somebody on another device', () => {
    const either = ['CUDA1', 'CUDA0'].map((device) => ({ need: { [device]: 10 * GIB }, quality: 'estimate' as const }));
    const open = { contextPinned: false, placements: either };
    const stage = new Stage()
      .devices({ CUDA0: 16, CUDA1: 24 })
      .catalog(spec('idle', { CUDA0: 14 }), spec('sizing', {}, open), spec('third', {}, open));
    stage.load('idle');
    stage.request('sizing');
    expect(stage.instance('sizing').claim).toEqual({ CUDA1: 10 * GIB });
    stage.request('third');
    expect(stage.did('stop')).toEqual([]);
    stage.ready('sizing');
    expect(stage.did('spawn')).toEqual(['third']);
  });

  it('loads a model that can shrink even where it cannot fit whole', () => {
    const stage = new Stage().devices({ CUDA0: 8 }).catalog(spec('a', { CUDA0: 20 }, { fits: true }));
    stage.request('a');
    expect(stage.did('spawn')).toEqual(['a']);
    expect(stage.instance('a').claim).toEqual({ CUDA0: 7 * GIB });
  });
});
