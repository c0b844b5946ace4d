import { describe, expect, it } from 'vitest';
import { spec, Stage } from '../support/stage.js';

const twoModels = (settings: ConstructorParameters<typeof Stage>[0] = {}): Stage =>
  new Stage(settings).devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 10 }), spec('b', { CUDA0: 20 }));

const stalled = (stage: Stage): Stage =>
  stage.play({ type: 'stalled', model: 'a', generation: stage.instance('a').generation, silentMillis: 300_000 });
const hung = (stage: Stage, silentMillis: number | null = 120_000): Stage =>
  stage.play({ type: 'hung', model: 'a', generation: stage.instance('a').generation, silentMillis });

describe('a load that gives no sign of life', () => {
  it('is stopped, and fails with the reason, with a back-off that grows', () => {
    const stage = twoModels();
    const request = stage.request('a');
    stalled(stage);
    expect(stage.effects).toContainEqual(expect.objectContaining({ type: 'stop', model: 'a', loading: true }));
    stage.exit('a', 'stopped');
    expect(stage.rejected.get(request)).toMatchObject({ code: 'model_failed_to_load', retryAfterSeconds: 1 });
    expect(stage.rejected.get(request)?.message).toContain('stalled: nothing heard for 5m00s');
    expect(stage.model('a')).toMatchObject({
      failures: 1,
      lastStop: { kind: 'stalled' },
      lastExit: { exitClass: 'stalled', duringLoad: true },
    });
    stage.now += 1000;
    stage.request('a');
    stalled(stage).exit('a', 'killed');
    expect(stage.model('a').failures).toBe(2);
    expect(stage.model('a').retryAt).toBe(stage.now + 2000);
  });

  it('may be one that was to wake up', () => {
    const stage = twoModels();
    stage.load('a');
    stage.play({ type: 'sleeping', model: 'a', generation: stage.instance('a').generation });
    const request = stage.request('a');
    stalled(stage).exit('a', 'stopped');
    expect(stage.rejected.get(request)?.message).toContain('stalled');
  });

  it('is not one that has come up meanwhile', () => {
    const stage = twoModels();
    stage.load('a');
    stalled(stage);
    expect(stage.phases()).toEqual({ a: 'ready' });
  });
});

describe('a model that has work and gives no sign of life', () => {
  const atWork = (settings = {}): Stage => {
    const stage = twoModels(settings);
    stage.request('a');
    return stage.ready('a');
  };

  it('is reported once, and left alone', () => {
    const stage = hung(atWork());
    expect(stage.decisions.map(({ sentence }) => sentence).join()).toContain('seems hung');
    expect(stage.instance('a')).toMatchObject({ phase: 'ready', hungSince: stage.now - 120_000 });
    expect(hung(stage, 240_000).decisions).toEqual([]);
  });

  it('is no longer reported once it gives one again', () => {
    const stage = hung(hung(atWork()), null);
    expect(stage.instance('a').hungSince).toBeNull();
    expect(stage.decisions.map(({ sentence }) => sentence).join()).toContain('signs of life again');
  });

  it('is stopped where the user said so, and that is a failure', () => {
    const stage = hung(atWork({ killHung: true }));
    expect(stage.did('stop')).toEqual(['a']);
    stage.exit('a', 'killed');
    expect(stage.model('a')).toMatchObject({ failures: 1, lastExit: { exitClass: 'hung', duringLoad: false } });
  });
});

describe('a port that another program has taken', () => {
  it('is no fault of the model: it is loaded again at once, whatever else had failed before', () => {
    const stage = twoModels();
    stage.request('a');
    stage.exit('a', 'crashed');
    stage.now += 1000;
    const request = stage.request('a');
    for (let time = 1; time <= 2; time += 1) {
      stage.exit('a', 'port-in-use');
      expect(stage.model('a').failures, 'the crash alone').toBe(1);
      expect(stage.sample().phases(), 'once its memory is seen to be back').toEqual({ a: 'loading' });
    }
    stage.ready('a');
    expect(stage.granted).toContain(request);
  });

  it('is a failure after three in a row', () => {
    const stage = twoModels();
    const request = stage.request('a');
    for (let time = 1; time <= 3; time += 1) stage.exit('a', 'port-in-use').sample();
    expect(stage.rejected.get(request)?.code).toBe('model_failed_to_load');
    expect(stage.model('a')).toMatchObject({ failures: 1, portsLost: 0 });
  });
});

describe('the time that a child is given to leave', () => {
  const stopTimes = (stage: Stage): Readonly<Record<string, number>> =>
    Object.fromEntries(
      stage.effects.flatMap((effect) => (effect.type === 'stop' ? [[effect.model, effect.timeoutMillis]] : [])),
    );

  it('is short at shutdown, unless requests are in flight', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('busy', { CUDA0: 5 }), spec('idle', { CUDA0: 5 }), spec('loading', { CUDA0: 5 }));
    stage.load('idle');
    stage.request('busy');
    stage.ready('busy');
    stage.request('loading');
    stage.play({ type: 'shutdown' });
    expect(stopTimes(stage)).toEqual({ idle: 2000, busy: 10_000, loading: 2000 });
  });

  it('becomes short at shutdown for one that was leaving already', () => {
    const stage = twoModels();
    stage.load('a').operator('unload', 'a').play({ type: 'shutdown' });
    expect(stopTimes(stage)).toEqual({ a: 2000 });
  });

  it('starts with the end of its clients, once their own time is over', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a').operator('unload', 'a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'timer', timer: { kind: 'drain', model: 'a', generation } }, 10_000);
    expect(stage.effects.map(({ type }) => type)).toEqual(['hang-up', 'stop', 'watch-devices']);
    expect(stopTimes(stage)).toEqual({ a: 2000 });
  });
});

describe('a crash of a model that the catalog no longer has', () => {
  it('leaves nothing of it', () => {
    const stage = twoModels();
    stage.request('a');
    stage.ready('a').catalog(spec('b', { CUDA0: 20 }));
    stage.exit('a', 'crashed');
    expect(Object.keys(stage.state.models)).toEqual(['b']);
  });
});
