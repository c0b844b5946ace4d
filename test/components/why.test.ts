import { describe, expect, it } from 'vitest';
import { GIB } from '../../src/scheduler/units.js';
import type { Decision, DeviceFigures } from '../../src/client/types.js';
import { readyModel, sampleDecision, sampleModel, sampleQueueEntry, sampleSnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

const figures: DeviceFigures = {
  device: 'CUDA0',
  totalBytes: 24 * GIB,
  heldBytes: Math.round(11.26 * GIB),
  reservedBytes: Math.round(6.25 * GIB),
  externalBytes: Math.round(2.06 * GIB),
  freeBytes: 24 * GIB - Math.round(11.26 * GIB) - Math.round(6.25 * GIB) - Math.round(2.06 * GIB),
  marginBytes: GIB,
  availableBytes: Math.round(3.46 * GIB),
  needBytes: Math.round(12.55 * GIB),
  deficitBytes: Math.round(12.55 * GIB) - Math.round(3.46 * GIB),
};

const refusal = sampleDecision(9, {
  kind: 'refuse',
  model: 'huge',
  sentence: 'huge: needs 90.0 GiB on CUDA0, more than there is',
  ledger: [figures],
});

const eviction = sampleDecision(3, {
  kind: 'evict',
  model: 'beta',
  forModel: 'gamma',
  sentence: 'beta for gamma: least recently used',
  plan: [{ model: 'beta', generation: 1, idleMillis: 9_000, givesBytes: { CUDA0: 12 * GIB } }],
});

const drained = sampleDecision(4, {
  kind: 'drain',
  model: 'beta',
  forModel: 'gamma',
  sentence: 'beta: takes no new requests',
  plan: [{ model: 'beta', generation: 1, idleMillis: 0, requests: 2, givesBytes: { CUDA0: 12 * GIB } }],
});

const evicted = sampleModel('beta', { lastStop: { kind: 'evicted', by: 'gamma', decision: 3 } });

/** The Why page of the first model. */
function whyPage(parts: Parameters<typeof sampleSnapshot>[0], columns = 140): ScreenWorld {
  const world = createScreenWorld(sampleSnapshot(parts), { columns, rows: 40 });
  world.press('w');
  return world;
}

/** The numbers of the decisions that the page lists, in its order. */
const listed = (world: ScreenWorld): number[] =>
  world
    .text()
    .split('newest first')[1]
    ?.match(/^ +#\d+/gmu)
    ?.map((found) => Number(found.trim().slice(1))) ?? [];

describe('why a model is not loaded', () => {
  it('says of one that leaves once it has answered for whom, and does not call it idle', () => {
    const lastStop = { kind: 'evicted', by: 'gamma', decision: 4 } as const;
    const models = [readyModel('beta', 1, { requests: 2, draining: true, lastStop })];
    const world = whyPage({ models, decisions: [drained] });
    expect(world.lines()[2]).toMatch(
      /^ {2}DRAINING {2}leaves once its 2 requests ended: evicted for gamma \(decision #4\)/,
    );
    expect(world.text()).toContain('Its eviction');
    expect(world.text()).toContain('beta: once its 2 requests ended, gives 12.0 GiB on CUDA0');
    expect(world.text()).not.toMatch(/idle|passed over|nobody has asked/u);
  });

  it('tells of one that was on its way out already when another had to leave after how many requests it does', () => {
    const passedOver = [{ model: 'alpha', reason: 'stopping', requests: 1 }] as const;
    const world = whyPage({ models: [evicted], decisions: [{ ...eviction, passedOver }] });
    expect(world.text()).toContain('alpha: leaves once its 1 request ended');
    expect(world.text()).not.toContain('stopping');
  });

  it('leads with its refusal, where nothing came after that', () => {
    const decisions = [sampleDecision(2, { model: 'huge', kind: 'measure' }), refusal];
    const world = whyPage({ models: [sampleModel('huge')], decisions });
    expect(world.lines()[2]).toMatch(
      /^ {2}UNLOADED {2}not loaded: refused .*\(decision #9\): needs 90\.0 GiB on CUDA0/,
    );
    expect(world.text()).not.toContain('nobody has asked');
    expect(world.text()).toContain('The refusal');
  });

  it('still knows of the refusal after something that does not load it, and no longer after a load', () => {
    const measured = sampleDecision(10, { model: 'huge', kind: 'measure' });
    const admitted = sampleDecision(11, { model: 'huge', kind: 'admit' });
    const models = [sampleModel('huge')];
    expect(whyPage({ models, decisions: [refusal, measured] }).lines()[2]).toContain('refused');
    expect(whyPage({ models, decisions: [refusal, measured, admitted] }).lines()[2]).not.toContain('refused');
  });

  it('says that nobody has asked only where nobody has', () => {
    expect(whyPage({ models: [sampleModel('m')] }).text()).toContain('nobody has asked for it yet');
    const queue = [
      { position: 1, model: 'm', since: 0, waiters: 1, wantedBy: 'requests', why: 'x', decision: 0 },
    ] as const;
    expect(whyPage({ models: [sampleModel('m')], queue }).text()).not.toContain('nobody has asked');
  });

  it('leads with what it waits for, and since when; then comes how it came to be out', () => {
    const waits = sampleDecision(7, { kind: 'wait', model: 'beta', sentence: 'beta: needs 2.0 GiB more on CUDA0' });
    const queue = [sampleQueueEntry(1, 'beta', { why: waits.sentence, decision: 7 })];
    const world = whyPage({ models: [evicted], queue, decisions: [eviction, waits] });
    const [first, second, , title, record] = world.lines().slice(2);
    expect(first).toMatch(
      /WAITING {2}since \d\d:\d\d:48 \(12s\) as number 1, for 1 request: needs 2\.0 GiB more on CUDA0/,
    );
    expect(second).toContain('before that: evicted for gamma (decision #3)');
    expect(title).toContain('Why it waits');
    expect(record).toContain('#7');
    world.press('escape', 'return');
    expect(world.text()).toMatch(/state +WAITING\n/);
    expect(world.text()).toMatch(/waiting +since .* as number 1/);
  });

  it('shows the record of its eviction, whatever was decided since', () => {
    const later = [4, 5].map((number) => sampleDecision(number, { kind: 'exit', model: 'beta' }));
    const text = whyPage({ models: [evicted], decisions: [eviction, ...later] }).text();
    expect(text).toContain('evicted for gamma (decision #3)');
    expect(text).toMatch(/Its eviction\n +#3 \d\d:\d\d:\d\d evict beta for gamma\n/);
  });

  it('says so when that record is no longer kept', () => {
    const later = sampleDecision(800, { kind: 'exit', model: 'beta' });
    const text = whyPage({ models: [evicted], decisions: [later] }).text();
    expect(text).toContain('The record of its eviction, decision #3, is no longer kept.');
  });

  it('lists the latest decisions that mention it in any part, newest first, with their numbers', () => {
    const others: Decision[] = [
      sampleDecision(1, { model: 'beta' }),
      sampleDecision(2, { model: 'other' }),
      eviction,
      sampleDecision(4, { model: 'other', forModel: 'beta' }),
      sampleDecision(5, { model: 'other', plan: eviction.plan }),
    ];
    expect(listed(whyPage({ models: [evicted], decisions: others }))).toEqual([5, 4, 3, 1]);
    const many = Array.from({ length: 40 }, (_, index) => sampleDecision(index + 1, { model: 'beta' }));
    expect(listed(whyPage({ models: [evicted], decisions: many }))).toEqual([40, 39, 38, 37, 36, 35, 34, 33]);
  });
});

describe('the ledger of a decision', () => {
  const rowAt = (columns: number): string =>
    whyPage({ models: [sampleModel('huge')], decisions: [refusal] }, columns)
      .lines()
      .find((line) => /^ +CUDA0 /.test(line)) ?? '';

  it('adds up as it is shown, like the bars', () => {
    const [need, available, short, held, reserved, external, free, total] = (rowAt(140).match(/\d+\.\d/g) ?? []).map(
      (text) => Math.round(Number(text) * 10),
    ) as [number, number, number, number, number, number, number, number];
    expect(held + reserved + external + free).toBe(total);
    expect(need - available).toBe(short);
  });

  it('keeps what was needed, short, free and the total when it is narrow, and is never cut', () => {
    for (const columns of [60, 70, 80, 100, 140]) {
      const lines = whyPage({ models: [sampleModel('huge')], decisions: [refusal] }, columns).lines();
      const header = lines.find((line) => line.includes('DEVICE')) ?? '';
      for (const title of ['need', 'short', 'free', 'total']) expect(header).toContain(title);
      expect(rowAt(columns)).toMatch(/24\.0.* GiB$/);
    }
  });
});

describe('a page on a narrow screen', () => {
  it('keeps the state apart from its sentence, and the whole of both', () => {
    const decisions = [refusal];
    const text = whyPage({ models: [sampleModel('huge')], decisions }, 60).text();
    expect(text).toMatch(/UNLOADED {2}not loaded: refused/);
    const world = createScreenWorld(sampleSnapshot({ models: [sampleModel('m')] }), { columns: 60, rows: 20 });
    const sentence = 'm: needs far more than there is on all devices of this machine together';
    const plan = { model: 'm', outcome: 'refused', sentence, decision: null } as const;
    world.screen.setState({ page: { kind: 'plan', model: 'm', plan, error: null } });
    expect(world.text()).toMatch(/REFUSED {2}m: needs far more/);
    expect(world.text().replace(/\s+/g, ' ')).toContain(sentence);
  });

  it('says what a plan would do without a number that no decision has', () => {
    const world = createScreenWorld(sampleSnapshot({ models: [readyModel('m', GIB)] }));
    const plan = { model: 'm', outcome: 'fits', sentence: 'fits', decision: sampleDecision(0) } as const;
    world.screen.setState({ page: { kind: 'plan', model: 'm', plan, error: null } });
    expect(world.text()).not.toContain('#0');
  });
});
