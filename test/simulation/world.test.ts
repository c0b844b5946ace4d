import { describe, expect, it } from 'vitest';
import { Agenda } from '../../src/simulation/agenda.js';
import { Pool } from '../../src/simulation/pool.js';
import { Random } from '../../src/simulation/random.js';

describe('the agenda', () => {
  it('gives what is to happen in the order of time, rank and entry', () => {
    const random = new Random(3);
    const agenda = new Agenda();
    const items = Array.from({ length: 200 }, (_, number) => ({
      at: random.between(0, 20),
      rank: random.between(0, 2),
      number,
    }));
    const happened: (typeof items)[number][] = [];
    for (const item of items) agenda.enter(item.at, item.rank, true, () => happened.push(item));
    for (let next = agenda.next(); next !== null; next = agenda.next()) next.act();
    const sorted = [...items].sort((a, b) => a.at - b.at || a.rank - b.rank || a.number - b.number);
    expect(happened).toEqual(sorted);
    expect(agenda.isEmpty).toBe(true);
  });

  it('counts only what somebody may wait for', () => {
    const agenda = new Agenda();
    agenda.enter(1, 0, true, () => undefined);
    agenda.enter(2, 0, false, () => undefined);
    expect(agenda.mattering).toBe(1);
    agenda.next();
    expect(agenda.mattering).toBe(0);
  });
});

describe('a device of the world', () => {
  const device = {
    name: 'CUDA0',
    kind: 'discrete',
    totalBytes: 100,
    foreignBytes: 10,
    probe: 'attributed',
    showsAfterMillis: 0,
    releasesAfterMillis: 1000,
  } as const;

  it('gives no more than there is, and keeps the memory of the dead for a while', () => {
    const later: (() => void)[] = [];
    const pool = new Pool(device, (_millis, act) => later.push(act));
    expect(pool.allocate(1, 60)).toBe(true);
    expect(pool.allocate(2, 31)).toBe(false);
    expect(pool.allocate(2, 30)).toBe(true);
    pool.abandon(1);
    expect([pool.freeBytes, pool.shownUsed(), pool.shownHoldings().length]).toEqual([0, 100, 2]);
    later[0]?.();
    expect([pool.freeBytes, pool.shownUsed(), pool.shownHoldings().length]).toEqual([0, 100, 1]);
    later[1]?.();
    expect([pool.freeBytes, pool.shownUsed()]).toEqual([60, 40]);
  });

  it('lets other programs take what is left and no more', () => {
    const pool = new Pool(device, () => undefined);
    pool.allocate(1, 60);
    pool.changeForeign(50);
    expect(pool.freeBytes).toBe(0);
    pool.changeForeign(-1000);
    expect(pool.freeBytes).toBe(40);
  });
});
