import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readJournal } from '../../src/journal/read.js';
import { replay } from '../../src/journal/replay.js';
import type { Decision } from '../../src/scheduler/decisions.js';
import type { PolicyName } from '../../src/scheduler/state.js';
import { RecordedRun } from '../support/recorded-run.js';

function recorded(policy: PolicyName = 'lru', seed = 1): RecordedRun {
  const run = new RecordedRun({}, { policy });
  run.churn(150, seed);
  run.writer.close(run.state);
  return run;
}

/** Replaces the first line that matches; returns its number. */
function changeFirst(path: string, pattern: RegExp, replacement: string): number {
  const lines = readFileSync(path, 'utf8').split('\n');
  const index = lines.findIndex((line) => pattern.test(line));
  lines[index] = replacement;
  writeFileSync(path, lines.filter((line, at) => at !== index || line !== '').join('\n'));
  return index + 1;
}

describe('a replay that comes to something else', () => {
  it('says at which line and event the decisions became others', () => {
    const { file } = recorded();
    const line = changeFirst(file, /^\{"decided"/u, '{"decided":"0000000000000000"}');
    const { divergence, verified } = replay(readJournal(file));
    expect(divergence).toMatchObject({ line: line - 1, event: { type: 'request' }, what: 'the decisions are others' });
    expect(verified).toBe(0);
  });

  it('says where it decides what was not decided', () => {
    const { file } = recorded();
    const line = changeFirst(file, /^\{"decided"/u, '');
    const { divergence } = replay(readJournal(file));
    expect(divergence).toMatchObject({ line: line - 1, what: 'decisions are made where none were recorded' });
  });

  it('says where it does not decide what was decided', () => {
    const { file } = recorded();
    const line = changeFirst(file, /"type":"request"/u, '{"at":1,"type":"timer","timer":{"kind":"retry","model":"x"}}');
    const { divergence } = replay(readJournal(file));
    expect(divergence).toMatchObject({ line, event: { type: 'timer' }, what: /no decision is made/u });
  });

  it('says when all decisions are the same, but not the last state', () => {
    const { file } = recorded();
    const line = changeFirst(file, /^\{"end"/u, '{"end":"0000000000000000"}');
    const { divergence, sameEnd } = replay(readJournal(file));
    expect(sameEnd).toBe(false);
    expect(divergence).toEqual({ line, event: null, what: 'the last state is another' });
  });
});

describe('a replay with another policy', () => {
  const decisionsBy = (file: string, policy: PolicyName): readonly Decision[] => {
    const decisions: Decision[] = [];
    replay(readJournal(file), { policy, onTurn: (turn) => decisions.push(...turn.decisions) });
    return decisions;
  };

  it('decides by it on the same inputs, and verifies nothing', () => {
    const { file, turns } = recorded();
    const result = replay(readJournal(file), { policy: 'cost' });
    expect(result).toMatchObject({ counterfactual: true, policy: 'cost', recordedPolicy: 'lru', verified: 0 });
    expect(result).toMatchObject({ divergence: null, sameEnd: null, events: turns.length });
    expect(decisionsBy(file, 'cost')).not.toEqual(decisionsBy(file, 'lru'));
  });

  it('passes over what is told of processes that it would not have started', () => {
    // Eviction by another order: from its first difference on, generations belong to other models.
    const { file } = recorded('lru', 3);
    const other = replay(readJournal(file), { policy: 'cost' });
    expect(other.strayEvents).toBeGreaterThan(0);
    expect(other.unanswered).toBeGreaterThan(0);
    expect(replay(readJournal(file))).toMatchObject({ strayEvents: 0, unanswered: 0 });
  });

  it('is none when it is the recorded one', () => {
    const { file } = recorded('cost');
    expect(replay(readJournal(file), { policy: 'cost' })).toMatchObject({ counterfactual: false, sameEnd: true });
    expect(replay(readJournal(file), { policy: 'lru' })).toMatchObject({
      counterfactual: true,
      recordedPolicy: 'cost',
    });
  });

  it('starts where settings that were recorded later would have changed it', () => {
    const run = new RecordedRun();
    run.churn(20);
    run.play({ type: 'configured', settings: { ...run.state.settings, policy: 'cost' } });
    run.churn(20);
    run.writer.close(run.state);
    expect(replay(readJournal(run.file))).toMatchObject({ counterfactual: false, sameEnd: true, policy: 'cost' });
    const kept = replay(readJournal(run.file), { policy: 'lru' });
    expect(kept).toMatchObject({ counterfactual: true, policy: 'lru', divergence: null });
    expect(kept.verified).toBeGreaterThan(0);
  });
});
