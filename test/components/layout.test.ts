import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allot } from '../../components/layout/allot.js';
import { textWidth } from '../../components/text/width.js';
import type { Snapshot } from '../../src/client/types.js';
import { GIB } from '../../src/scheduler/units.js';
import { PANES } from '../../src/store/screen-store.js';
import {
  busySnapshot,
  SAMPLE_SUPERVISOR,
  SAMPLE_TIME,
  sampleDecision,
  sampleDevice,
  sampleModel,
  sampleSnapshot,
} from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

/** Many of everything, with names that are long, wide, or mean. */
function crowdedSnapshot(): Snapshot {
  const name = (index: number): string =>
    index % 3 === 0 ? `org/模型-${index}-very-long-name-that-goes-on-and-on` : `model-${index}\u001b[2J\u202e`;
  return sampleSnapshot({
    devices: Array.from({ length: 16 }, (_, index) =>
      sampleDevice(`CUDA${index}`, {
        description: 'NVIDIA GeForce RTX 4090 with a long name',
        overcommitBytes: index === 3 ? 3 * GIB : 0,
        sampledAt: index === 4 ? null : SAMPLE_TIME - 9_000,
      }),
    ),
    models: Array.from({ length: 60 }, (_, index) => sampleModel(name(index))),
    queue: Array.from({ length: 30 }, (_, index) => ({
      position: index + 1,
      model: name(index),
      since: SAMPLE_TIME,
      waiters: 3,
      wantedBy: 'requests' as const,
      why: 'needs 6.2 GiB more on CUDA0 and then some more of everything else',
      decision: 1,
    })),
    measureQueue: Array.from({ length: 5 }, (_, index) => name(index)),
    decisions: Array.from({ length: 200 }, (_, index) =>
      sampleDecision(index + 1, { sentence: `${name(index)}: ${'because '.repeat(40)}` }),
    ),
    outOfMemory: [
      {
        ...{
          decision: 3,
          at: SAMPLE_TIME,
          model: name(1),
          device: 'CUDA0',
          askedBytes: null,
          residentBytes: 0,
          claimBytes: GIB,
        },
        holders: [{ device: 'CUDA0', segments: [{ model: name(0), part: 'held', bytes: GIB }], foreign: [] }],
        changes: [],
        decisions: [],
      },
    ],
    supervisor: { ...SAMPLE_SUPERVISOR, notices: ['one notice', 'a notice that is very long '.repeat(12)] },
  });
}

const SIZES = [
  [250, 70],
  [250, 16],
  [160, 50],
  [200, 60],
  [140, 40],
  [120, 36],
  [100, 30],
  [99, 24],
  [80, 24],
  [79, 24],
  [60, 20],
  [60, 16],
  [50, 10],
  [10, 3],
  [1, 1],
] as const;

function expectToFit(world: ScreenWorld, columns: number, rows: number): void {
  const lines = world.lines();
  expect(lines.length).toBeLessThanOrEqual(rows);
  for (const line of lines) expect(textWidth(line), line).toBeLessThanOrEqual(columns);
}

describe('the frame', () => {
  it.each(SIZES)('never exceeds a terminal of %i x %i, whatever is on it', (columns, rows) => {
    for (const snapshot of [busySnapshot(), crowdedSnapshot(), sampleSnapshot()]) {
      for (const focus of PANES) {
        const world = createScreenWorld(snapshot, { columns, rows });
        world.screen.setState({ focus });
        expectToFit(world, columns, rows);
        world.screen.setState({ zoom: true });
        expectToFit(world, columns, rows);
        world.screen.setState({ zoom: false, message: { tone: 'bad', text: 'x'.repeat(300), until: Infinity } });
        expectToFit(world, columns, rows);
        for (const key of ['?', 'w', 'return', 'L', 'P', '!', 'q', '/']) {
          world.screen.setState({ page: null, dialog: null, input: null });
          world.press(key);
          expectToFit(world, columns, rows);
        }
      }
    }
  });

  it('fits at every width from 60 to 250, with every row in its place', () => {
    for (let columns = 60; columns <= 250; columns += 1) {
      for (const snapshot of [busySnapshot(), crowdedSnapshot()]) {
        const world = createScreenWorld(snapshot, { columns, rows: 40 });
        expectToFit(world, columns, 40);
        expect(world.lines()).toHaveLength(40);
        expect(world.text(), `${columns} columns`).toMatch(/CUDA0[^\n]*\[[^\]\n]{3,}\]/u);
      }
    }
  });

  it('fills the terminal exactly, so that nothing of an older frame stays', () => {
    for (const [columns, rows] of SIZES.filter(([width, height]) => width >= 60 && height >= 16)) {
      expect(createScreenWorld(busySnapshot(), { columns, rows }).lines()).toHaveLength(rows);
      expect(createScreenWorld(crowdedSnapshot(), { columns, rows }).lines()).toHaveLength(rows);
    }
  });

  it('says what it has and what it needs when the terminal is too small', () => {
    const lines = (columns: number, rows: number): string[] =>
      createScreenWorld(busySnapshot(), { columns, rows }).lines();
    expect(lines(50, 10)).toEqual(['llm-tui needs 60 x 16, this is 50 x 10']);
    expect(lines(20, 10)).toEqual(['llm-tui needs 60 x', '16, this is 20 x 10']);
    expect(lines(9, 3)).toEqual(['llm-tui', 'needs 60', 'x 16,']);
  });

  it('can be left at any size, and does nothing else there but say so', () => {
    const world = createScreenWorld(busySnapshot(), { columns: 40, rows: 8 });
    world.press('p', 'u', 'U', '/');
    expect(world.asked).toEqual([]);
    expect(world.screen.getState()).toMatchObject({ dialog: null, input: null });
    expect(world.text()).toContain('/ does nothing on so small a screen; q');
    world.press('q');
    expect(world.lines()).toContain('l leave');
    world.press('return');
    expect(world.answers).toEqual(['leave']);
  });

  it('has the queues beside the models when it is wide, under them when it is narrower, and tabs when it is slim', () => {
    const wide = createScreenWorld(busySnapshot(), { columns: 100, rows: 30 }).lines();
    expect(wide.find((line) => line.includes('Models (6)'))).toContain('Queue (2)');
    const narrow = createScreenWorld(busySnapshot(), { columns: 99, rows: 30 }).lines();
    expect(narrow.find((line) => line.includes('Models (6)'))).not.toContain('Queue (2)');
    expect(narrow.some((line) => line.startsWith('-- Queue (2)'))).toBe(true);
    const slim = createScreenWorld(busySnapshot(), { columns: 79, rows: 30 });
    expect(slim.text()).toContain('[2 Models]');
    expect(slim.text()).not.toContain('-- Queue');
    slim.press('3');
    expect(slim.text()).toContain('[3 Queue]');
    expect(slim.text()).toContain('needs 6.2 GiB on CUDA0');
  });
});

describe('the shares of the rows', () => {
  const demand = fc.record({
    columns: fc.integer({ min: 60, max: 250 }),
    rows: fc.integer({ min: 1, max: 80 }),
    devices: fc.nat(20),
    models: fc.nat(80),
    notice: fc.boolean(),
    zoomed: fc.constantFrom(null, ...PANES),
    focus: fc.constantFrom(...PANES),
  });

  it('are never negative and never more than there are', () => {
    fc.assert(
      fc.property(demand, (asked) => {
        const place = allot(asked);
        const parts = [place.devices, place.notice, place.tabs, place.decisions, place.hints];
        const body =
          place.mode === 'wide'
            ? Math.max(place.models, place.queue + place.measure)
            : place.models + place.queue + place.measure;
        for (const part of [...parts, place.models, place.queue, place.measure]) expect(part).toBeGreaterThanOrEqual(0);
        expect(1 + parts.reduce((sum, part) => sum + part, 0) + body).toBeLessThanOrEqual(asked.rows);
      }),
    );
  });

  it('give up hints first, then the measure queue, decisions, the queue, and the bars last', () => {
    const order = ['hints', 'measure', 'decisions', 'queue', 'devices'] as const;
    for (const columns of [80, 120]) {
      for (let rows = 40; rows > 1; rows -= 1) {
        const place = allot({ columns, rows, devices: 3, models: 8, notice: false, zoomed: null, focus: 'models' });
        const present = order.map((part) => place[part] > 0);
        // Once one is present, all that are given up later are present as well.
        const first = present.indexOf(true);
        expect(present.slice(first).every(Boolean), `${columns}x${rows}: ${present.join()}`).toBe(true);
      }
    }
  });
});
