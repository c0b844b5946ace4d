import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openRecording } from '../../src/client/replay-client.js';
import type { ClientMessage, RecordedPosition, Snapshot } from '../../src/client/types.js';
import { journalFiles } from '../../src/journal/files.js';
import { journalOf, liveScreen } from '../support/live-screen.js';
import { simulated } from '../support/preset.js';
import { serve, temporaryDirectory, type Served } from '../support/serving.js';

const MODEL = { 'sim-size': '14GiB', 'sim-load-seconds': 0.05 };

let served: Served;
let path: string;

/** One model is loaded, and leaves for another. */
beforeAll(async () => {
  served = await serve(...simulated('CUDA0=24GiB', { first: MODEL, second: MODEL }));
  for (const model of ['first', 'second']) {
    const messages = [{ role: 'user', content: 'hello' }];
    const answer = await served.post('/v1/chat/completions', { model, max_tokens: 2, messages });
    expect(answer.status).toBe(200);
  }
  await served.until('its memory is back', ({ decisions }) => decisions.some(({ kind }) => kind === 'release'));
  served.process.kill('SIGTERM');
  await new Promise((resolve) => served.process.once('exit', resolve));
  path = journalFiles(journalOf(served))[0] ?? '';
});
afterAll(() => served[Symbol.asyncDispose]());

interface Watched {
  snapshot(): Snapshot;
  position(): RecordedPosition;
}

function watch(subscribe: (listener: (message: ClientMessage) => void) => unknown): Watched {
  let snapshot: Snapshot | null = null;
  let position: RecordedPosition | null = null;
  subscribe((message) => {
    if (message.type === 'snapshot') snapshot = message.snapshot;
    if (message.type === 'position') position = message.position;
  });
  const there = <T>(value: T | null): T => {
    if (value === null) throw new Error('nothing was told');
    return value;
  };
  return { snapshot: () => there(snapshot), position: () => there(position) };
}

describe('a recorded journal', () => {
  it('begins at its end, and goes back through every moment at which something was decided', () => {
    const client = openRecording(path);
    const seen = watch((listener) => client.subscribe(listener));
    expect(seen.snapshot().shuttingDown).toBe(true);
    const { moments } = seen.position();
    expect(seen.position()).toMatchObject({ moment: moments, playing: false, left: 0 });

    const sentences: string[] = [];
    client.recording?.step(-Infinity);
    expect(seen.position().moment).toBe(0);
    expect(seen.snapshot().models).toEqual([]);
    for (let moment = 1; moment <= moments; moment += 1) {
      client.recording?.step(1);
      sentences.push(seen.snapshot().decisions.at(-1)?.sentence ?? '');
    }
    expect(sentences.some((sentence) => sentence.startsWith('first: ready'))).toBe(true);
    expect(sentences.some((sentence) => sentence.startsWith('first leaves') || sentence.includes('first'))).toBe(true);

    // The view of that moment is what was then, not what came of it.
    client.recording?.step(-Infinity);
    while (!(seen.snapshot().decisions.at(-1)?.kind === 'evict')) client.recording?.step(1);
    expect(seen.snapshot().models.map(({ id, word }) => [id, word])).toEqual([
      ['first', 'stopping'],
      ['second', 'unloaded'],
    ]);
    client.close();
  });

  it('plays on by itself, in about the time that it took, and stops at its end', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const client = openRecording(path);
      const seen = watch((listener) => client.subscribe(listener));
      client.recording?.togglePlaying();
      expect(seen.position()).toMatchObject({ moment: 0, playing: true });
      vi.advanceTimersByTime(1_600);
      expect(seen.position().moment).toBeGreaterThan(0);
      client.recording?.togglePlaying();
      const { moment } = seen.position();
      vi.advanceTimersByTime(60_000);
      expect(seen.position()).toMatchObject({ moment, playing: false });
      client.recording?.togglePlaying();
      vi.advanceTimersByTime(600_000);
      expect(seen.position()).toMatchObject({ moment: seen.position().moments, playing: false });
      client.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('changes nothing, and says so', async () => {
    const client = openRecording(path);
    expect(await client.act('load', 'first')).toMatchObject({ ok: false });
    expect(await client.reload()).toMatchObject({ ok: false });
    client.recording?.step(-Infinity);
    client.recording?.step(2);
    expect((await client.plan('first')).outcome).not.toBe('');
    client.close();
  });

  it('is drawn by the same screen, which steps, plays and goes to its ends', async () => {
    using live = liveScreen(openRecording(path));
    await live.shows('RECORDED');
    live.press('g');
    expect(live.text()).toMatch(/RECORDED {2}0 of \d+/u);
    live.press(']', ']', ']');
    expect(live.text()).toMatch(/RECORDED {2}3 of \d+/u);
    live.press('[');
    expect(live.text()).toMatch(/RECORDED {2}2 of \d+/u);
    live.press('G');
    expect(live.text()).toMatch(/first .*UNLOADED/u);
    live.press('space');
    expect(live.text()).toContain('playing');
    live.press('space', 'l');
    expect(live.text()).toContain('this is a recording: load changes nothing any more');
    live.press('G', '5', 'w');
    expect(live.text()).toContain('Why: decision #');
    live.press('escape', 'q');
    expect(live.outcome()).toEqual({ reason: 'left', message: null });
  });

  it('that is damaged is shown up to there, with a word about it', () => {
    const broken = join(temporaryDirectory(), 'broken.jsonl');
    const client = ((): ReturnType<typeof openRecording> => {
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      writeFileSync(broken, [...lines.slice(0, Math.floor(lines.length / 2)), '{"damaged":', ''].join('\n'));
      return openRecording(broken);
    })();
    const seen = watch((listener) => client.subscribe(listener));
    expect(seen.snapshot().supervisor.notices[0]).toContain('is damaged');
    expect(seen.position().moments).toBeGreaterThan(1);
    client.close();
    writeFileSync(broken, 'no journal');
    expect(() => openRecording(broken)).toThrow(/is not a journal of llm-tui/u);
  });
});
