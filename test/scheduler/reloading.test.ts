import { describe, expect, it } from 'vitest';
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
