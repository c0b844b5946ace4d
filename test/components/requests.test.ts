import { describe, expect, it } from 'vitest';
import type { RequestView, Snapshot } from '../../src/client/types.js';
import { SAMPLE_TIME, busySnapshot, readyModel } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

const request = (id: string, parts: Partial<RequestView> = {}): RequestView => ({
  ...{
    id,
    model: 'qwen3-32b',
    kind: '/v1/chat/completions',
    client: '10.0.0.7:5101',
    since: SAMPLE_TIME - 65_000,
    waiting: false,
  },
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
  it('stand on its page: which, waiting or running, for how long, who asks, and what they were sent to', () => {
    const shown = world();
    shown.press('return');
    expect(shown.text()).toMatch(
      /r3 +running +1m 10\.0\.0\.7:5101 +\/v1\/chat\/completions\n +r4 +running +1m \S+ +\/v1\/embeddings\n/,
    );
    expect(shown.text()).toMatch(/r5 +waiting +9s \S+ +\/v1\/chat\/completions/);
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
      'Cancel r4, from 10.0.0.7:5101, being answered for 1m, sent to /v1/embeddings? Its client gets an error instead of the rest.',
    );
    shown.press('y');
    expect(shown.answers).toEqual(['confirm cancel qwen3-32b r4']);
    shown.press('c');
    expect(shown.asked).toEqual(['cancel r5']);
  });

  it('have the next one selected once one is cancelled, or the one before the last; none where none is left', () => {
    const shown = world();
    shown.press('r', 'c');
    expect(shown.selectedRow(), 'not yet').toContain('r3');
    shown.press('escape');
    expect(shown.selectedRow()).toContain('r3');
    shown.press('c', 'y');
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: OPEN.slice(1) } });
    expect(shown.selectedRow()).toContain('r4');
    shown.press('G', 'c');
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: OPEN.slice(1, 2) } });
    expect(shown.selectedRow()).toContain('r4');
    shown.press('c', 'y');
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: [] } });
    expect(shown.selectedRow()).toBeUndefined();
  });

  it('are asked about as long as they last; what has ended is not there to be cancelled', () => {
    const shown = world();
    shown.press('r', 'c');
    expect(shown.text()).toMatch(/y cancel it +Esc keep it/u);
    shown.receive({ type: 'delta', delta: { at: SAMPLE_TIME, requests: OPEN.slice(1) } });
    expect(shown.text()).toContain('r3 has ended meanwhile: there is nothing to cancel.');
    expect(shown.lines().at(-1)).toBe(' Esc back');
    shown.press('y');
    expect(shown.view().screen.dialog, 'that is no answer').not.toBeNull();
    shown.press('return');
    expect(shown.view().screen.dialog).toBeNull();
    expect(shown.answers).toEqual([]);
  });

  it.each([60, 80, 140])('can be told apart at %i columns: by number, age, client and path', (columns) => {
    const shown = createScreenWorld({ ...busySnapshot(), requests: OPEN }, { columns, rows: 24 });
    shown.press('r');
    const row = shown.lines().find((line) => line.includes('r4')) ?? '';
    expect(row).toMatch(/r4 +running +1m 10\.0\.0\.7:5101 +\/v1\S*s$/u);
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
    expect(shown.text()).toContain('the request that was selected has ended; j and k select another one');
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
