import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../src/scheduler/state.js';
import { spec, Stage } from '../support/stage.js';

const IDLE = { idleTimeoutMillis: 5000 } as const;

/** Plays the timer of a model's idle time, so long after now. */
function idle(stage: Stage, later: number, limitMillis = 5000): Stage {
  const { generation } = stage.instance('a');
  return stage.play({ type: 'timer', timer: { kind: 'idle', model: 'a', generation, limitMillis } }, later);
}

describe('an idle timeout', () => {
  const loaded = (more: object = {}): Stage =>
    new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 10 }, { ...IDLE, ...more }))
      .load('a');

  it('unloads an instance that nobody has used for so long, and says so', () => {
    const stage = idle(loaded(), 5000);
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.instance('a').stopReason).toEqual({ kind: 'idle' });
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['stop']);
  });

  it('counts from the end of the latest request, and looks again then', () => {
    const stage = loaded();
    const request = stage.request('a');
    idle(stage, 6000);
    expect(stage.did('stop')).toEqual([]);
    expect(stage.effects).toContainEqual(expect.objectContaining({ type: 'arm-timer', at: stage.now + 5000 }));
    stage.end(request, 'a');
    const { lastUsedAt } = stage.instance('a');
    idle(stage, 4000);
    expect(stage.effects).toContainEqual(expect.objectContaining({ type: 'arm-timer', at: lastUsedAt + 5000 }));
    expect(idle(stage, 1000).did('stop')).toEqual(['a']);
  });

  it('never touches a pinned model', () => {
    expect(idle(loaded({ pinned: true }), 60_000).did('stop')).toEqual([]);
  });

  it('of another length than now is not heard; the new one has a timer of its own', () => {
    const stage = loaded();
    stage.catalog(spec('a', { CUDA0: 10 }, { idleTimeoutMillis: 60_000 }));
    expect(stage.effects).toContainEqual(expect.objectContaining({ type: 'arm-timer', at: stage.now + 60_000 }));
    expect(idle(stage, 5000).did('stop')).toEqual([]);
  });
});

describe('a reload', () => {
  const running = (more: object = {}): Stage =>
    new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 10 }, more))
      .load('a');

  it('keeps an instance whose change is taken back before it has left', () => {
    const stage = running();
    stage.request('a');
    stage.catalog(spec('a', { CUDA0: 10 }, { fingerprint: 'a 2' }));
    expect(stage.instance('a').draining).toEqual({ kind: 'catalog', change: 'changed' });
    stage.catalog();
    stage.catalog(spec('a', { CUDA0: 10 }));
    expect(stage.instance('a').draining).toBe(null);
    expect(stage.model('a').removed).toBe(false);
  });

  it('whose change is taken back leaves no timer that would end a later drain too early', () => {
    const stage = running();
    const request = stage.request('a');
    stage.catalog(spec('a', { CUDA0: 10 }, { fingerprint: 'a 2' }));
    const [armed] = stage.effects.filter((effect) => effect.type === 'arm-timer');
    stage.catalog(spec('a', { CUDA0: 10 }));
    stage.now += 5000;
    stage.catalog(spec('a', { CUDA0: 10 }, { fingerprint: 'a 3' }));
    if (armed === undefined) throw new Error('a drain has a limit');
    stage.play({ type: 'timer', timer: armed.timer }, 5000);
    expect(stage.did('stop')).toEqual([]);
    expect(stage.play({ type: 'timer', timer: armed.timer }, 5000).did('stop')).toEqual(['a']);
    stage.end(request, 'a');
  });

  it('leaves unpinned what the operator has unpinned, although the preset still pins it', () => {
    const stage = running({ pinned: true }).operator('unpin', 'a');
    stage.catalog(spec('a', { CUDA0: 10 }, { pinned: true }));
    expect(stage.model('a').pinned).toBe(false);
  });

  it('unpins what the preset no longer pins, and forgets a load that only the pin wanted', () => {
    const stage = new Stage().devices({ CUDA0: 8 }).catalog(spec('a', { CUDA0: 10 }, { pinned: true }));
    expect(stage.state.queue.map(({ model }) => model)).toEqual(['a']);
    stage.catalog(spec('a', { CUDA0: 10 }));
    expect(stage.model('a').pinned).toBe(false);
    expect(stage.state.queue).toEqual([]);
  });
});

describe('a model that is to be loaded at start', () => {
  it('goes through admission, asked for by its preset, and is not pinned', () => {
    const stage = new Stage().devices({ CUDA0: 24 });
    stage.play({ type: 'catalog', models: [spec('a', { CUDA0: 10 })], pins: [], startup: ['a', 'gone'] });
    expect(stage.did('spawn')).toEqual(['a']);
    expect(stage.decisions[0]).toMatchObject({ kind: 'admit', asker: { kind: 'startup' } });
    expect(stage.model('a').pinned).toBe(false);
  });

  it('is given up where it cannot fit', () => {
    const stage = new Stage().devices({ CUDA0: 8 });
    stage.play({ type: 'catalog', models: [spec('a', { CUDA0: 10 })], pins: [], startup: ['a'] });
    expect(stage.state.queue).toEqual([]);
    expect(stage.decisions.map(({ kind }) => kind)).toEqual(['refuse']);
  });
});

describe('a model that a reload finds unusable', () => {
  const gone = (id: string): ModelSpec =>
    spec(id, { CUDA0: 20 }, { fingerprint: `${id} gone`, invalid: '"a.gguf" is truncated' });
  const running = (): Stage =>
    new Stage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }))
      .load('a');

  it('keeps running, is said to, once, and goes on serving', () => {
    const stage = running();
    stage.catalog(gone('a'), spec('b', { CUDA0: 20 }));
    expect(stage.instance('a').draining).toBe(null);
    expect(stage.decisions.map(({ sentence }) => sentence)).toEqual([
      'a: runs on as it was started; it could not be loaded now: "a.gguf" is truncated',
    ]);
    const request = stage.request('a');
    expect(stage.granted).toContain(request);
    stage.catalog(gone('a'), spec('b', { CUDA0: 20 }));
    expect(stage.decisions).toEqual([]);
  });

  it('that is as before when it is read again never left', () => {
    const stage = running();
    stage.catalog(gone('a'), spec('b', { CUDA0: 20 })).catalog(spec('a', { CUDA0: 20 }), spec('b', { CUDA0: 20 }));
    expect(stage.instance('a')).toMatchObject({ phase: 'ready', draining: null });
  });

  it('leaves for what it is once that can be loaded', () => {
    const stage = running();
    stage.catalog(gone('a'), spec('b', { CUDA0: 20 }));
    stage.catalog(spec('a', { CUDA0: 18 }, { fingerprint: 'a 2' }), spec('b', { CUDA0: 20 }));
    expect(stage.did('stop')).toEqual(['a']);
  });

  it('is stopped while it loads', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 20 }));
    const request = stage.request('a');
    stage.catalog(gone('a'));
    expect(stage.did('stop')).toEqual(['a']);
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'model_invalid' });
  });

  it('makes nobody leave: whoever waits for it is told, and its decision says why', () => {
    const stage = running();
    const busy = stage.request('a');
    const waiting = stage.request('b');
    stage.catalog(spec('a', { CUDA0: 20 }), gone('b'));
    expect(stage.rejected.get(waiting)).toMatchObject({
      code: 'model_invalid',
      message: `model 'b' cannot be loaded: "a.gguf" is truncated`,
      decision: stage.decisions.find(({ kind }) => kind === 'refuse')?.number,
    });
    stage.end(busy, 'a');
    expect(stage.did('stop')).toEqual([]);
    expect(stage.state.queue).toEqual([]);
  });

  it('no longer waits to be loaded because an operator asked for it, and is refused once it is at rest', () => {
    const stage = running();
    const busy = stage.request('a');
    stage.operator('load', 'b');
    stage.catalog(spec('a', { CUDA0: 20 }), gone('b'));
    expect(stage.state.queue).toEqual([]);
    stage.end(busy, 'a');
    const { generation } = stage.instance('a');
    stage.play({ type: 'sleeping', model: 'a', generation });
    stage.catalog(gone('a'), gone('b'));
    const request = stage.request('a');
    expect(stage.rejected.get(request)).toMatchObject({ code: 'model_invalid' });
    expect(stage.instance('a').draining).toBe(null);
  });
});
