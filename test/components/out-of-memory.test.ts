import { describe, expect, it } from 'vitest';
import { remediesFor } from '../../components/panes/remedies.js';
import type { Decision, DeviceFigures, OutOfMemoryReport, Snapshot } from '../../src/client/types.js';
import { GIB } from '../../src/scheduler/units.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';
import {
  readyModel,
  SAMPLE_SUPERVISOR,
  SAMPLE_TIME,
  sampleDecision,
  sampleDevice,
  sampleModel,
  sampleSnapshot,
} from '../support/snapshots.js';

function report(decision: number, parts: Partial<OutOfMemoryReport> = {}): OutOfMemoryReport {
  return {
    decision,
    at: SAMPLE_TIME - 8_000,
    model: 'late',
    device: 'CUDA0',
    askedBytes: 7 * GIB,
    residentBytes: GIB,
    claimBytes: 7 * GIB,
    holders: [{ device: 'CUDA0', segments: [{ model: 'idle', part: 'held', bytes: 8 * GIB }], foreign: [] }],
    changes: [],
    decisions: [],
    ...parts,
  };
}

const figures: DeviceFigures = {
  ...{ device: 'CUDA0', totalBytes: 24 * GIB, heldBytes: 8 * GIB, reservedBytes: 6 * GIB, externalBytes: 10 * GIB },
  ...{ freeBytes: 0, marginBytes: GIB, availableBytes: 5 * GIB, needBytes: 8 * GIB, deficitBytes: 3 * GIB },
};

const record = (number: number): Decision =>
  sampleDecision(number, { kind: 'out-of-memory', model: 'late', ledger: [figures] });

const external = (fromGib: number, toGib: number): OutOfMemoryReport['changes'][number] => ({
  ...{ at: SAMPLE_TIME - 9_000, until: SAMPLE_TIME - 8_500, device: 'CUDA0', model: null },
  ...{ fromBytes: fromGib * GIB, toBytes: toGib * GIB },
});

interface Loaded {
  readonly gib: number;
  readonly pinned?: boolean;
  readonly requests?: number;
  readonly idleMillis?: number;
}

/** A card on which these are loaded; the rest of it, less what is left free, is other programs'. */
function world(loaded: Readonly<Record<string, Loaded>>, freeGib: number, parts: Partial<Snapshot> = {}): ScreenWorld {
  const held = Object.entries(loaded).map(([model, { gib }]) => ({ model, part: 'held' as const, bytes: gib * GIB }));
  const ours = held.reduce((sum, { bytes }) => sum + bytes, 0);
  const models = Object.entries(loaded).map(([id, { gib, pinned = false, requests = 0, idleMillis = 60_000 }]) =>
    readyModel(id, gib * GIB, { pinned, requests, lastUsedAt: SAMPLE_TIME - idleMillis }),
  );
  return createScreenWorld(
    sampleSnapshot({
      devices: [sampleDevice('CUDA0', { segments: held, externalBytes: (24 - freeGib) * GIB - ours })],
      models: [...models, sampleModel('late', { word: 'failed' })],
      decisions: [record(7)],
      outOfMemory: [report(7)],
      ...parts,
    }),
  );
}

const remedies = (shown: ScreenWorld, of: OutOfMemoryReport = report(7)): string[] =>
  remediesFor(shown.view(), of, record(7)).map(({ command, effect }) => `${command ?? '-'}: ${effect}`);

describe('what would help a model that has run out of memory', () => {
  it('is loading it, where there is room by now', () => {
    expect(remedies(world({ idle: { gib: 8 } }, 10))).toEqual([
      'llm-tui load late: fits now: it needs 8.0 GiB on CUDA0, 9.0 GiB is free for it',
    ]);
  });

  it('is nothing where it has come up since', () => {
    const models = [readyModel('late', 8 * GIB)];
    expect(remedies(world({}, 2, { models }))).toEqual(['-: It has come up since: nothing has to be done.']);
  });

  it('is unloading the smallest idle model that is enough alone', () => {
    expect(remedies(world({ large: { gib: 9 }, small: { gib: 5 }, tiny: { gib: 1 } }, 5))[0]).toMatch(
      /^llm-tui unload small: gives 5\.0 GiB on CUDA0: enough by itself; idle for 1m$/,
    );
  });

  it('is unloading several, the least recently used first, where none is enough alone', () => {
    const shown = world({ young: { gib: 3, idleMillis: 20_000 }, old: { gib: 3, idleMillis: 900_000 } }, 4);
    expect(remedies(shown)).toEqual([
      'llm-tui unload old: gives 3.0 GiB on CUDA0: not enough by itself, 2.0 GiB would still be missing; idle for 15m',
      'llm-tui unload young: gives 3.0 GiB on CUDA0: enough together with the one above; idle for 20s',
    ]);
  });

  it('is waiting for a busy one or unpinning, where the idle ones do not suffice, and says what each comes to', () => {
    const shown = world({ chat: { gib: 4, requests: 2 }, keeper: { gib: 6, pinned: true } }, 4);
    expect(remedies(shown)).toEqual([
      'llm-tui unload chat: gives 4.0 GiB on CUDA0: not enough by itself, 1.0 GiB would still be missing; leaves once its 2 requests ended',
      'llm-tui unpin keeper: gives 6.0 GiB on CUDA0: enough by itself; pinned models never leave by themselves',
    ]);
  });

  it('says of each whether it is enough by itself, with those above it, or not even so', () => {
    const shown = world(
      { a: { gib: 1 }, b: { gib: 1 }, busy: { gib: 1, requests: 1 }, kept: { gib: 5, pinned: true } },
      3,
    );
    expect(remedies(shown).map((remedy) => /CUDA0: (.*?)(?:;|$)/u.exec(remedy)?.[1])).toEqual([
      'not enough by itself, 5.0 GiB would still be missing',
      'together with the one above 4.0 GiB would still be missing',
      'together with the 2 above 3.0 GiB would still be missing',
    ]);
  });

  it('counts what is on its way back as there: it was held by the one that failed', () => {
    const devices = [
      sampleDevice('CUDA0', {
        segments: [{ model: 'late', part: 'releasing', bytes: 8 * GIB }],
        externalBytes: 10 * GIB,
      }),
    ];
    expect(remedies(world({}, 2, { devices }))[0]).toMatch(/^llm-tui load late: fits now: .* 13\.0 GiB is free for it/);
  });

  it('is a margin as large as what other programs took within the minute', () => {
    const grown = report(7, { changes: [external(1, 4)] });
    expect(remedies(world({}, 2), grown).at(-1)).toMatch(
      /^llm-tui --models-memory-margin 4096: at the next start: other programs took 3\.0 GiB meanwhile/,
    );
  });

  it('is no margin that would leave too little for the model itself', () => {
    const grown = report(7, { changes: [external(1, 18)] });
    expect(remedies(world({}, 2), grown).join()).not.toContain('--models-memory-margin');
  });

  it('is needing less, where it would not fit even alone', () => {
    const shown = world({}, 4);
    expect(remedies(shown).slice(0, 2)).toEqual([
      '-: Other programs hold 20.0 GiB on CUDA0: without them it would fit.',
      expect.stringMatching(/^llm-tui measure late: does not fit on CUDA0 as it is, even alone/),
    ]);
  });

  it('can be run as it stands, whatever the model is called and wherever the supervisor listens', () => {
    const supervisor = { ...SAMPLE_SUPERVISOR, url: 'http://127.0.0.1:9000' };
    const shown = world({ "it's $HOME; rm": { gib: 9 } }, 2, { supervisor });
    expect(remedies(shown)[0]).toMatch(/^llm-tui unload 'it'\\''s \$HOME; rm' --url http:\/\/127\.0\.0\.1:9000: /);
  });
});

describe('the out-of-memory report', () => {
  it('is offered in a line until it was looked at', () => {
    const shown = world({ idle: { gib: 8 } }, 2);
    expect(shown.text()).toMatch(/! late ran out of memory on CUDA0 at \d\d:\d\d:52/);
    shown.press('!');
    expect(shown.text()).toContain('Out of memory: late');
    expect(shown.text()).not.toContain('! late ran out');
    shown.press('escape');
    expect(shown.text()).not.toContain('! late ran out');
  });

  it('tells the try before from the one that failed, and everybody together from nobody', () => {
    const segments = [
      { model: 'late', part: 'releasing', bytes: 5 * GIB },
      { model: 'late', part: 'held', bytes: 2 * GIB },
      { model: 'idle', part: 'held', bytes: 4 * GIB },
    ] as const;
    const holders = [{ device: 'CUDA0', segments, foreign: [] }];
    const shown = world({ idle: { gib: 8 } }, 2, { outOfMemory: [report(7, { holders })] });
    shown.press('!');
    expect(shown.text()).toMatch(/5\.0 late, the try before +was leaving already/);
    expect(shown.text()).toMatch(/2\.0 late, itself +the one that failed/);
    // 24 less 10 of other programs and those 11.
    expect(shown.text()).toMatch(/3\.0 nobody/);
  });

  it('goes back to the one before by the same key, and round again', () => {
    const outOfMemory = [report(5, { model: 'first' }), report(7)];
    const shown = world({ idle: { gib: 8 } }, 2, { outOfMemory });
    shown.press('!');
    expect(shown.text()).toContain('Out of memory: late (1 of 2');
    shown.press('!');
    expect(shown.text()).toContain('Out of memory: first (2 of 2');
    shown.press('!');
    expect(shown.text()).toContain('Out of memory: late (1 of 2');
  });

  it('can be read without its decision, which is no longer kept', () => {
    const shown = world({ idle: { gib: 8 } }, 2, { decisions: [] });
    shown.press('!');
    expect(shown.text()).toContain('Who held CUDA0');
    expect(shown.text()).toMatch(/8\.0 idle +not known any more/);
  });

  it('takes the keys for its model', () => {
    const shown = world({ idle: { gib: 8 } }, 10);
    shown.press('!', 'l');
    expect(shown.asked).toEqual(['load late']);
  });

  it('is not offered where there is none', () => {
    const shown = world({ idle: { gib: 8 } }, 2, { outOfMemory: [] });
    shown.press('!');
    expect(shown.text()).toContain('no model has run out of memory lately');
  });
});
