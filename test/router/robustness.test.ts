import { readdirSync, readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { fuzzRouter } from '../support/router-fuzz.js';
import { storm } from '../support/router-storm.js';
import { serve, type Served } from '../support/serving.js';
import { until } from '../support/until.js';

const MIB = 1024 * 1024;

/** Open sockets of a process (Linux). */
function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}

function serveTwo(): Promise<Served> {
  const model = { 'sim-load-seconds': 0.2, 'sim-tokens-per-second': 200 };
  return serve(
    ...simulated('CUDA0=10GiB', { small: { 'sim-size': '6GiB', ...model }, other: { 'sim-size': '6GiB', ...model } }),
  );
}

describe('a router among clients that misbehave', () => {
  it('has nothing left of those that leave in the middle, and answers all others', async () => {
    await using served = await serveTwo();
    const models = ['small', 'other'];
    const pid = served.process.pid ?? 0;
    await storm({ url: served.url, seed: 1, models, halves: 300, aborts: 60, withinMillis: 3000 });
    await served.until('no lease and no waiter is left', (snapshot) => {
      return snapshot.queue.every(({ waiters }) => waiters === 0) && snapshot.models.every((m) => m.requests === 0);
    });
    for (const model of models) {
      const reply = await served.post('/v1/chat/completions', { model, messages: [], max_tokens: 2 });
      expect([model, reply.status]).toEqual([model, 200]);
      await reply.text();
    }
    if (process.platform === 'linux') {
      // What listens, the children's pipes, and what this test keeps open itself.
      await until('their sockets are gone', () => Promise.resolve(socketsOf(pid) < 40));
    }
  });

  it('answers 500 random requests without a fault, and keeps its memory', async () => {
    await using served = await serveTwo();
    const seed = Math.floor(Math.random() * 2 ** 31);
    const report = await fuzzRouter(served.url, served.process.pid ?? 0, seed, 500);
    const what = `seed ${seed}: node --import ./scripts/typescript.js scripts/fuzz-router.ts --seed ${seed} --runs 500`;
    expect(report.faults, what).toEqual([]);
    expect(report.statuses['200'] ?? 0, what).toBeGreaterThan(20);
    expect(report.rssBytes[1] - report.rssBytes[0], what).toBeLessThan(100 * MIB);
    expect((await fetch(`${served.url}/health`)).status, what).toBe(200);
    await served.until('nothing is in flight', ({ models }) => models.every(({ requests }) => requests === 0));
  });
});
