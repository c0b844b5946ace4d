import { describe, expect, it } from 'vitest';
import type { RequestView, Snapshot } from '../../src/client/types.js';
import { SAMPLE_TIME, busySnapshot, readyModel } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

const request = (id: string, parts: Partial<RequestView> = {}): RequestView => ({
  ...{ id, model: 'qwen3-32b', kind: '/v1/chat/completions', since: SAMPLE_TIME - 65_000, waiting: false },
  ...parts,
});

const OPEN = [
  request('r3'),
  request('r4', { kind: '/v1/embeddings' }),
  request('r5', { waiting: true, since: SAMPLE_TIME - 9_000 }),
];

/** The first model is selected: three requests are for it, one is for another. */
function world(requests: readonly RequestView[] = OPEN): ScreenWorld {
  const snapshot: Snapshot = { ...busySnapshot(), requests: [...requests, request('r9', { model: 'phi-4' })] };
  return createScreenWorld(snapshot);
}

describe('the requests for a model', () => {
  it('stand on its page: which, waiting or running, for how long, and what they were sent to', () => {
    const shown = world();
    shown.press('return');
    expect(shown.text()).toMatch(/r3 +running +1m \/v1\/chat\/completions\n +r4 +running +1m \/v1\/embeddings\n/);
    expect(shown.text()).toMatch(/r5 +waiting +9s \/v1\/chat\/completions/);
    expect(shown.text()).not.toContain('r9');
  });

  it('are counted there where they are many, and all in their own list', () => {
    const many = Array.from({ length: 60 }, (_, index) => request(`r${index + 1}`));
    const shown = world(many);
    shown.press('return');
    expect(shown.text()).toContain('and 55 more');
    shown.press('r', 'G');
    expect(shown.text()).toContain('Requests for qwen3-32b (60)');
    expect(shown.selectedRow()).toContain('r60');
    shown.press('g');
    expect(shown.selectedRow()).toContain('r1 ');
  });

  it('are cancelled one at a time: a running one after a question, a waiting one at once', () => {
    const shown = world();
    shown.press('return', 'c');
    expect(shown.asked, 'on the page of the model it opens the list').toEqual([]);
    expect(shown.lines().at(-1)).toMatch(/^ Esc back {2}j k choose {2}c cancel this one/);
    shown.press('j', 'c');
    expect(shown.text().replace(/\s+/g, ' ')).toContain(
      'Cancel r4, being answered for 1m, sent to /v1/embeddings? Its client gets an error instead of the rest.',
    );
    shown.press('y');
    expect(shown.answers).toEqual(['confirm cancel qwen3-32b r4']);
    shown.press('j', 'c');
    expect(shown.asked).toEqual(['cancel r5']);
  });

  it('keep the selection where it is when others end, and cancel none instead of one that has ended', () => {
    const shown = world();
    shown.press('r', 'j');
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: OPEN.slice(1) } });
    expect(shown.selectedRow()).toContain('r4');
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: OPEN.slice(2) } });
    expect(shown.selectedRow()).toBeUndefined();
    shown.press('c');
    expect([...shown.asked, ...shown.answers]).toEqual([]);
  });

  it('are cancelled all together from the list of models, as ever', () => {
    const shown = world();
    shown.press('c', 'y');
    expect(shown.answers).toEqual(['confirm cancel qwen3-32b']);
  });

  it('are not made up where a supervisor does not tell them', () => {
    const shown = createScreenWorld({ ...busySnapshot(), models: [readyModel('m', 1, { requests: 2 })] });
    shown.press('return', 'c');
    expect(shown.text()).toContain('Cancel 2 requests in flight at m');
  });
});
