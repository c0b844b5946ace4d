import { describe, expect, it } from 'vitest';
import {
  KEPT_REPORTS,
  nextHistory,
  NO_HISTORY,
  type MemoryHistory,
  type OutOfMemoryReport,
} from '../../src/scheduler/memory-history.js';
import { GIB, type Bytes } from '../../src/scheduler/units.js';
import type { Decision } from '../../src/scheduler/decisions.js';
import type { EventBody } from '../../src/scheduler/events.js';
import { step } from '../../src/scheduler/step.js';
import { spec, Stage } from '../support/stage.js';

const asked = { device: 'CUDA0', askedBytes: 8 * GIB, reason: 'out of memory on CUDA0' } as const;

/** The record of the latest turn in which something ran out of memory. */
function recordOf(stage: Stage): Decision {
  const record = stage.decisions.find(({ kind }) => kind === 'out-of-memory');
  if (record === undefined) throw new Error('nothing ran out of memory');
  return record;
}

describe('the record of an instance that has run out of memory', () => {
  it('has the ledger of that moment with the instance in it, what it needs and what there was for it', () => {
    const stage = new Stage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 8 }), spec('b', { CUDA0: 10 }));
    stage.load('b').request('a');
    stage.devices({ CUDA0: 24 }, { CUDA0: 6 });
    stage.exit('a', 'out-of-memory', asked);
    const [figures] = recordOf(stage).ledger;
    expect(figures).toMatchObject({ device: 'CUDA0', heldBytes: 18 * GIB, reservedBytes: 0, externalBytes: 6 * GIB });
    // 24 less 6 external, 10 of b and 1 margin: 7 of the 8 or more that it needs.
    expect(figures?.availableBytes).toBe(7 * GIB);
    expect(figures?.needBytes).toBeGreaterThan(8 * GIB);
    expect(figures?.deficitBytes).toBe((figures?.needBytes ?? 0) - 7 * GIB);
  });

  it('names who could have left, and everybody else with the reason why not', () => {
    const stage = new Stage()
      .devices({ CUDA0: 24, CUDA1: 24 })
      .catalog(
        spec('a', { CUDA0: 6 }),
        spec('idle', { CUDA0: 4 }),
        spec('busy', { CUDA0: 4 }),
        spec('pinned', { CUDA0: 4 }, { pinned: true }),
        spec('elsewhere', { CUDA1: 4 }),
      );
    stage.ready('pinned').load('idle').load('elsewhere').request('busy');
    stage.ready('busy').request('a');
    stage.exit('a', 'out-of-memory', asked);
    const record = recordOf(stage);
    expect(record.plan).toMatchObject([{ model: 'idle', givesBytes: { CUDA0: 4 * GIB } }]);
    expect(Object.fromEntries(record.passedOver.map(({ model, reason }) => [model, reason]))).toEqual({
      busy: 'busy',
      pinned: 'pinned',
      elsewhere: 'not on this device',
    });
  });

  it('is made where nobody can say which device it was', () => {
    const stage = new Stage().devices({ CUDA0: 24, CUDA1: 24 }).catalog(spec('a', { CUDA0: 6, CUDA1: 6 }));
    stage.request('a');
    stage.exit('a', 'out-of-memory', { device: null, askedBytes: null, reason: 'out of memory' });
    expect(recordOf(stage).ledger.map(({ device }) => device)).toEqual(['CUDA0', 'CUDA1']);
  });
});

/** A stage whose every turn is also told to a history. */
class RememberingStage extends Stage {
  history: MemoryHistory = NO_HISTORY;

  override play(body: EventBody, later = 1): this {
    const before = this.state;
    const event = { at: this.now + later, ...body };
    const { state, decisions } = step(before, event);
    this.history = nextHistory(this.history, event, before, state, decisions);
    return super.play(body, later);
  }

  /** Somebody else holds so much on CUDA0 now. */
  external(gib: number, later = 500): this {
    this.now += later;
    return this.devices({ CUDA0: 24 }, { CUDA0: gib });
  }

  get latest(): OutOfMemoryReport {
    const report = this.history.reports.at(-1);
    if (report === undefined) throw new Error('there is no report');
    return report;
  }
}

const inGib = (bytes: Bytes): number => bytes / GIB;

describe('the report of an instance that has run out of memory', () => {
  function ranOut(): RememberingStage {
    const stage = new RememberingStage()
      .devices({ CUDA0: 24 })
      .catalog(spec('a', { CUDA0: 8 }), spec('b', { CUDA0: 10 }));
    stage.load('b').sample().request('a');
    stage.external(1).external(3).external(6);
    stage.exit('a', 'out-of-memory', asked);
    return stage;
  }

  it('tells who took memory in the minute before, steps of the same growth as one', () => {
    const { changes } = ranOut().latest;
    expect(changes.map(({ model, fromBytes, toBytes }) => [model, inGib(fromBytes), inGib(toBytes)])).toEqual([
      ['b', 0, 10],
      [null, 0, 6],
      ['a', 0, 8],
    ]);
    const external = changes.find(({ model }) => model === null);
    expect((external?.until ?? 0) - (external?.at ?? 0)).toBeGreaterThan(900);
  });

  it('tells what was decided meanwhile, what was asked for and what it was admitted with', () => {
    const { latest } = ranOut();
    expect(latest).toMatchObject({ model: 'a', device: 'CUDA0', askedBytes: 8 * GIB, claimBytes: 8 * GIB });
    expect(latest.decisions.map(({ kind }) => kind)).toEqual([
      ...['admit', 'ready', 'admit', 'out-of-memory'],
      // What is done about it in the same moment belongs to it.
      'evict',
    ]);
    expect(latest.decisions.at(3)?.number).toBe(latest.decision);
  });

  it('counts a try that died before for what it was seen to hold, so that everybody together fits on the device', () => {
    const stage = new RememberingStage({ marginBytes: 0 }).devices({ CUDA0: 24 }, { CUDA0: 9 });
    stage.catalog(spec('a', { CUDA0: 16 })).request('a');
    // Where memory limits nothing, the next try begins while what the first one held is not back yet.
    const seen = (gib: number): void => {
      const reading = { name: 'CUDA0', kind: 'discrete', description: '', attributed: true } as const;
      const devices = [{ ...reading, totalBytes: 24 * GIB, usedBytes: (9 + gib) * GIB }];
      const { generation } = stage.instance('a');
      const instances = [{ model: 'a', generation, resident: { CUDA0: gib * GIB } }];
      stage.play({ type: 'sample', takenAt: stage.now + 1, devices, instances }, 2);
    };
    seen(10);
    stage.exit('a', 'out-of-memory', { ...asked, askedBytes: 6 * GIB });
    expect(stage.instance('a').generation).toBe(2);
    stage.exit('a', 'out-of-memory', { ...asked, askedBytes: 16 * GIB });
    const [holders] = stage.latest.holders;
    expect(holders?.segments.map(({ part, bytes }) => [part, inGib(bytes)])).toContainEqual(['releasing', 10]);
    const [figures] = recordOf(stage).ledger;
    expect(inGib(figures?.availableBytes ?? 0), '24 less 9 of others and 10 of the first try').toBe(5);
  });

  it('leaves out what was longer ago than a minute, and what was there before anybody looked', () => {
    const stage = new RememberingStage().devices({ CUDA0: 24 }, { CUDA0: 5 }).catalog(spec('a', { CUDA0: 8 }));
    stage.external(9);
    stage.now += 61_000;
    stage.sample().request('a');
    stage.exit('a', 'out-of-memory', asked);
    expect(stage.latest.changes).toEqual([]);
    expect(stage.latest.decisions.map(({ kind }) => kind)).toEqual(['admit', 'out-of-memory', 'wait']);
  });

  it('does not mistake slow growth for none, nor breathing for growth', () => {
    const stage = new RememberingStage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 8 }));
    for (let part = 1; part <= 16; part += 1) stage.external(part / 64, 1_000);
    for (const parts of [15, 16, 14, 16]) stage.external(parts / 64, 1_000);
    stage.request('a');
    stage.exit('a', 'out-of-memory', asked);
    const steps = stage.latest.changes.map(({ fromBytes, toBytes }) => toBytes - fromBytes);
    expect(steps.reduce((sum, bytes) => sum + bytes, 0)).toBe(GIB / 4);
    expect(steps.every((bytes) => bytes > 0)).toBe(true);
  });

  it('is kept for the last few only', () => {
    const stage = new RememberingStage().devices({ CUDA0: 24 }).catalog(spec('a', { CUDA0: 8 }));
    for (let round = 0; round < 3 * KEPT_REPORTS; round += 1) {
      stage.now += 100_000;
      stage.sample();
      stage.play({ type: 'timer', timer: { kind: 'retry', model: 'a' } });
      stage.operator('load', 'a');
      if (stage.model('a').instance !== null) stage.exit('a', 'out-of-memory', asked).sample();
    }
    expect(stage.history.reports).toHaveLength(KEPT_REPORTS);
    expect(stage.history.changes.length).toBeLessThan(300);
  });
});

describe('an instance that runs out of memory where nobody knows what others hold at that moment', () => {
  const LOST = { devices: ['CUDA0'], message: 'nvml: GPU is lost' };
  const model = spec('a', { CUDA0: 8 });
  const silent = { device: 'CUDA0', askedBytes: null, reason: 'out of memory on CUDA0' } as const;
  const failing = (stage: Stage): Stage =>
    stage.play({ type: 'sample', takenAt: stage.now, devices: [], instances: [], failures: [LOST] });

  const cases: readonly (readonly [string, string, () => Stage])[] = [
    [
      'its driver fails',
      'CUDA0 cannot be read',
      () => {
        const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 2 }).catalog(model);
        stage.request('a');
        return failing(stage);
      },
    ],
    [
      'its driver has not answered for a while, and nothing is known of it yet',
      'CUDA0 cannot be read',
      () => {
        const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 2 }).catalog(model);
        stage.request('a');
        stage.now += 4000;
        return stage;
      },
    ],
    [
      'no probe reads it: a child once told of it',
      'no probe reads CUDA0',
      () => {
        const stage = new Stage().catalog(model, spec('b', { CUDA0: 4 }));
        stage.request('b');
        const { generation } = stage.instance('b');
        const reports = [{ name: 'CUDA0', totalBytes: 24 * GIB, freeBytes: 18 * GIB }];
        const effective = { CUDA0: 4 * GIB };
        stage.play({ type: 'ready', model: 'b', generation, contextTokens: null, effective, reports });
        stage.request('a');
        return stage;
      },
    ],
    [
      'it was never read, and is loaded on all the same',
      'CUDA0 has never been read',
      () => {
        const stage = failing(new Stage({ admission: 'proceed' })).catalog(model);
        stage.request('a');
        return stage;
      },
    ],
  ];

  it.each(cases)('is not taken to need all that there seemed to be: %s', (_case, doubt, loading) => {
    const stage = loading();
    stage.exit('a', 'out-of-memory', silent);
    expect(stage.model('a').raised).toBeNull();
    expect(recordOf(stage).sentence).toMatch(new RegExp(`; ${doubt}, so what others held there is not known$`, 'u'));
    expect(recordOf(stage).ledger.every(({ needBytes }) => needBytes === 8 * GIB)).toBe(true);
  });

  it.each(cases.slice(0, 3))('is taken to need what its log says that it asked for: %s', (_case, _doubt, loading) => {
    const stage = loading();
    stage.exit('a', 'out-of-memory', { ...silent, askedBytes: 11 * GIB });
    expect(stage.model('a').raised).toEqual({ CUDA0: 3 * GIB });
  });

  it('is tried once more when they are known again, by what they are then', () => {
    const stage = cases[0]?.[2]() ?? new Stage();
    stage.exit('a', 'out-of-memory', silent);
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.state.queue[0]?.why).toContain(LOST.message);
    stage.devices({ CUDA0: 24 }, { CUDA0: 2 });
    expect([stage.did('spawn'), stage.instance('a').claim]).toEqual([['a'], { CUDA0: 8 * GIB }]);
  });

  it('is taken to need more than there was for it where that is known', () => {
    const stage = new Stage().devices({ CUDA0: 24 }, { CUDA0: 2 }).catalog(model);
    stage.request('a');
    stage.exit('a', 'out-of-memory', silent);
    expect(stage.model('a').raised).toEqual({ CUDA0: 14 * GIB + 1 });
    expect(recordOf(stage).sentence).not.toContain('not known');
  });
});
