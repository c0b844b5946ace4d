import { readFileSync, utimesSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Decision, ModelView, Snapshot } from '../../src/client/types.js';
import { tinyGguf } from '../support/tiny-gguf.js';
import { simulated } from '../support/preset.js';
import { descendants, runProgram, serve, type Served } from '../support/serving.js';
import { tempTree } from '../support/temp-tree.js';
import { isRunning, until } from '../support/until.js';

const QUICK = { 'sim-load-seconds': 0.1, 'sim-size': '4GiB' };
const chat = (model: string): object => ({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] });

function modelIn(snapshot: Snapshot, id: string): ModelView {
  const model = snapshot.models.find((other) => other.id === id);
  if (model === undefined) throw new Error(`there is no ${id}`);
  return model;
}

const sentences = ({ decisions }: Snapshot, ...kinds: readonly Decision['kind'][]): readonly string[] =>
  decisions.filter(({ kind }) => kinds.includes(kind)).map(({ sentence }) => sentence);

const allMeasured = ({ models }: Snapshot): boolean => models.every(({ memory }) => memory.status === 'measured');

/** Ends the program as a user does, and waits until it has ended. */
async function stop(served: Served): Promise<void> {
  served.process.kill('SIGTERM');
  await once(served.process, 'exit');
}

describe('a model', () => {
  it('is measured before it is loaded, and the request waits for that', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { ...QUICK, 'sim-measure-seconds': 0.5 } }));
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    const snapshot = await served.snapshot();
    expect(sentences(snapshot, 'measure', 'admit')).toEqual([
      'a: measured, needs 4.0 GiB on CUDA0',
      'a: needs 4.0 GiB on CUDA0; 23.0 GiB available',
    ]);
  });

  it('that would take many times what the machine has is not measured, which could take the machine down', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { ...QUICK, 'sim-size': '99999GiB' } }));
    const reply = await served.post('/v1/chat/completions', chat('a'));
    expect(await reply.text()).toContain('"model_too_large"');
    expect(sentences(await served.snapshot(), 'measure')).toEqual([
      expect.stringMatching(
        /^a: could not be measured \(it would take 99999\.0 GiB, where this machine has .* in all\)/u,
      ),
    ]);
  });

  it('that somebody asks for is measured before those that nobody does', async () => {
    const slow = { ...QUICK, 'sim-measure-seconds': 0.5 };
    await using served = await serve(...simulated('CUDA0=24GiB', { a: slow, b: slow, c: slow, d: slow }));
    await served.until('something is measured', ({ measuringSince }) => measuringSince);
    expect((await served.post('/v1/chat/completions', chat('d'))).status).toBe(200);
    const order = await served.until(
      'all are measured',
      (snapshot) => allMeasured(snapshot) && sentences(snapshot, 'measure'),
    );
    const names = order.map((sentence) => sentence.slice(0, 1));
    // What was under way already is finished first; on a slow machine that may be more than one.
    expect(names.indexOf('d')).toBeLessThan(names.indexOf('c'));
  });

  it('that cannot be measured is loaded on its estimate, and measured once more afterwards', async () => {
    const late = { ...QUICK, 'sim-measure-fails': 'until-loaded' };
    await using served = await serve(...simulated('CUDA0=24GiB', { a: late }));
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    const snapshot = await served.until(
      'it is measured',
      (now) => modelIn(now, 'a').memory.status === 'measured' && now,
    );
    const [failed, admitted, measured] = sentences(snapshot, 'measure', 'admit');
    expect(failed).toContain('a: could not be measured (exited with code 1: simulated failure');
    expect(admitted).toBe('a: needs about 4.0 GiB on CUDA0; 23.0 GiB available');
    expect(measured).toBe('a: measured, needs 4.0 GiB on CUDA0');
  });

  it('that says nonsense of itself counts as not measured', async () => {
    const model = { ...QUICK, 'sim-measure-fails': 'malformed' };
    await using served = await serve(...simulated('CUDA0=24GiB', { a: model }));
    const snapshot = await served.until('it has failed', (now) => modelIn(now, 'a').memory.status === 'failed' && now);
    expect(sentences(snapshot, 'measure')).toEqual([
      'a: could not be measured (its figures make no sense); its estimate is used',
    ]);
  });

  it('is measured again when the operator says so', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: QUICK }));
    await served.until('it is measured', allMeasured);
    const { code, stderr } = await runProgram(['measure', 'a', '--url', served.url], served.directory);
    expect([code, stderr]).toEqual([0, 'a is being measured\n']);
    await served.until('it is measured again', (snapshot) => sentences(snapshot, 'measure').length === 2);
  });
});

describe('what was measured', () => {
  it('is known after a restart, without measuring again', async () => {
    const args = simulated('CUDA0=24GiB', { a: QUICK, b: QUICK });
    await using first = await serve(...args);
    await first.until('all are measured', allMeasured);
    expect((await first.post('/v1/chat/completions', chat('b'))).status).toBe(200);
    await first.until('b is seen at work', (now) => modelIn(now, 'b').memory.observed);
    await stop(first);

    await using second = await serve(...args, '--state-dir', first.stateDirectory);
    const snapshot = await second.until('it knows its models', (now) => now.models.length === 2 && now);
    expect(snapshot.models.map(({ memory }) => memory.status)).toEqual(['measured', 'measured']);
    expect(modelIn(snapshot, 'b')).toMatchObject({
      claimQuality: 'observed',
      loadMillis: expect.any(Number) as number,
    });
    expect((await second.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    expect(sentences(await second.snapshot(), 'measure')).toEqual([]);
  });

  it('is known no longer when the file has changed, or the devices have', async () => {
    const file = join(tempTree({ 'm.gguf': tinyGguf() }), 'm.gguf');
    const args = simulated('CUDA0=24GiB', { a: { ...QUICK, model: file }, b: QUICK });
    await using first = await serve(...args);
    await first.until('all are measured', allMeasured);
    await stop(first);

    utimesSync(file, 1, 1);
    await using second = await serve(...args, '--state-dir', first.stateDirectory);
    const again = await second.until('all are measured', (now) => now.models.length > 0 && allMeasured(now) && now);
    expect(sentences(again, 'measure')).toEqual(['a: measured, needs 4.0 GiB on CUDA0']);
    await stop(second);

    const others = args.map((argument) => (argument === 'CUDA0=24GiB' ? 'CUDA0=48GiB' : argument));
    await using third = await serve(...others, '--state-dir', first.stateDirectory);
    const elsewhere = await third.until('all are measured', (now) => now.models.length > 0 && allMeasured(now) && now);
    expect(sentences(elsewhere, 'measure')).toHaveLength(2);
  });

  it('is measured again when its file cannot be read, and the user is told', async () => {
    const state = tempTree({ 'measurements.json': '{"version":1,"entries":' });
    await using served = await serve(...simulated('CUDA0=24GiB', { a: QUICK }), '--state-dir', state);
    const { supervisor } = await served.until(
      'it is measured',
      (now) => now.models.length > 0 && allMeasured(now) && now,
    );
    expect(supervisor.notices).toEqual([
      `${state}/measurements.json is not a file of measurements that this version can read; models are measured again`,
    ]);
    await stop(served);
    expect(JSON.parse(readFileSync(join(state, 'measurements.json'), 'utf8'))).toMatchObject({ version: 1 });
  });

  it('is shown by /models, as tables, and told on /models/sse', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { ...QUICK, 'sim-measure-seconds': 1 } }));
    const gone = new AbortController();
    const stream = await fetch(`${served.url}/models/sse`, { signal: gone.signal });
    const told = readUntil(stream, '"event":"model_memory","data":{"status":"measured"');
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    expect(await told).toContain('{"model":"a","event":"model_memory"');
    gone.abort();

    const { data } = (await (await fetch(`${served.url}/v1/models`)).json()) as { data: { memory: unknown }[] };
    const row = { kind: 'device', name: 'CUDA0', model: expect.any(Number) as number, compute: 0 };
    const table = { n_ctx: 4096, devices: [row] };
    expect(data[0]?.memory).toMatchObject({
      status: 'measured',
      min: table,
      max: table,
      effective: table,
      estimate: { CUDA0: 4 * 1024 ** 3 },
    });
  });
});

describe('a measuring child', () => {
  const endless = { ...QUICK, 'sim-measure-seconds': 600 };

  it('goes with its supervisor, asked or killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await using served = await serve(...simulated('CUDA0=24GiB', { a: endless }));
      const { pid = 0 } = served.process;
      const children = await until('a child measures', () => descendants(pid).length > 0 && descendants(pid));
      served.process.kill(signal);
      await once(served.process, 'exit');
      await until(`nothing is left after ${signal}`, () => children.every((child) => !isRunning(child)));
    }
  });

  it('runs alone', async () => {
    const slow = { ...QUICK, 'sim-measure-seconds': 0.3 };
    await using served = await serve(...simulated('CUDA0=24GiB', { a: slow, b: slow, c: slow }));
    const { pid = 0 } = served.process;
    const counts = new Set<number>();
    await served.until('all are measured', (snapshot) => {
      counts.add(descendants(pid).length);
      return snapshot.models.length > 0 && allMeasured(snapshot);
    });
    expect(Math.max(...counts)).toBe(1);
  });
});

/** Reads a stream until the text has come. */
async function readUntil(response: Response, text: string): Promise<string> {
  let seen = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    seen += decoder.decode(chunk as Uint8Array, { stream: true });
    if (seen.includes(text)) return seen;
  }
  throw new Error(`the stream ended without ${text}: ${seen}`);
}
