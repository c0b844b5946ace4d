import { describe, expect, it } from 'vitest';
import { GIB, MIB } from '../../src/scheduler/units.js';
import {
  busySnapshot,
  readyModel,
  SAMPLE_SUPERVISOR,
  SAMPLE_TIME,
  sampleDevice,
  sampleModel,
  sampleSnapshot,
} from '../support/snapshots.js';
import { createScreenWorld } from '../support/screen-world.js';

const lineWith = (lines: readonly string[], text: string): string => lines.find((line) => line.includes(text)) ?? '';

describe('the measure queue', () => {
  it('says of its first model how long it has been running', () => {
    const queue = { measureQueue: ['qwen3-32b', 'phi-4'], measuringSince: SAMPLE_TIME - 4_200 };
    const models = queue.measureQueue.map((id) => sampleModel(id));
    const world = createScreenWorld(sampleSnapshot({ ...queue, models }));
    const lines = world.lines().filter((line) => /running \d/.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/qwen3-32b +running 4s/);
  });
});

describe('the bars', () => {
  it('show who holds a device, and numbers that add up to its total', () => {
    const line = lineWith(createScreenWorld(busySnapshot()).lines(), 'CUDA0');
    expect(line).toMatch(
      /\[q{10,12}:{5,7}#{1,3}\.+\|\.*\] held 11\.2 {2}reserved {2}6\.3 {2}external {2}2\.0 {2}free {2}4\.5 \/ 24\.0 GiB$/,
    );
  });

  it('show memory on its way back apart from what is in use', () => {
    expect(lineWith(createScreenWorld(busySnapshot()).lines(), 'CUDA1')).toMatch(/\[p+~~#/);
  });

  it('say so when nobody has reported a device, or not for a while', () => {
    const world = createScreenWorld(
      sampleSnapshot({
        devices: [
          sampleDevice('CUDA0', { sampledAt: null }),
          sampleDevice('CUDA1', { sampledAt: SAMPLE_TIME - 4_200 }),
          sampleDevice('CUDA2', { sampledAt: SAMPLE_TIME - 2_900 }),
        ],
      }),
    );
    expect(lineWith(world.lines(), 'CUDA0')).toContain('no probe');
    expect(lineWith(world.lines(), 'CUDA1')).toContain('stale 4s');
    expect(lineWith(world.lines(), 'CUDA2')).not.toContain('stale');
  });

  it('give way to what must be known of a device when the screen is narrow', () => {
    for (const columns of [60, 80, 100]) {
      const devices = [
        sampleDevice('CUDA0', { sampledAt: null }),
        sampleDevice('CUDA1', { sampledAt: SAMPLE_TIME - 55_000 }),
      ];
      const lines = createScreenWorld(sampleSnapshot({ devices }), { columns, rows: 24 }).lines();
      expect(lineWith(lines, 'CUDA0')).toMatch(/no probe$/);
      expect(lineWith(lines, 'CUDA1')).toMatch(/stale 50s$/);
    }
  });

  it('say by how much a device is overcommitted', () => {
    const device = sampleDevice('CUDA0', { overcommitBytes: Math.round(2.5 * GIB) });
    expect(createScreenWorld(sampleSnapshot({ devices: [device] })).text()).toContain('OVER by 2.5 GiB');
  });

  it('give every model a letter of its own, the same as in the list', () => {
    const models = ['qwen3-8b', 'qwen3-32b', 'org/q4'].map((id) => readyModel(id, 6 * GIB));
    const segments = models.map((model) => ({ model: model.id, part: 'held' as const, bytes: 6 * GIB }));
    const lines = createScreenWorld(sampleSnapshot({ models, devices: [sampleDevice('CUDA0', { segments })] })).lines();
    expect(lineWith(lines, 'CUDA0')).toMatch(/\[q{6}Q{6}[a-z]{6}/);
    expect(lineWith(lines, 'qwen3-32b')).toMatch(/^ {2}Q qwen3-32b/);
  });
});

describe('the models', () => {
  const row = (id: string): string => lineWith(createScreenWorld(busySnapshot()).lines().slice(5), id);

  it('tell state, device, memory, context, requests and idle time in words and numbers', () => {
    expect(row('phi-4')).toMatch(/p phi-4 +READY +1 +7\.9\/ +7\.9 +16k +0 +5m/);
    expect(row('qwen3-32b')).toMatch(/qwen3-32b +\* +READY +0 +11\.2\/11\.2 +32k +2 +-/);
  });

  it('tell how far loading is and how long it will take, by the load before', () => {
    expect(row('llama4-scout')).toMatch(/LOADING +0 +~6\.3\/ +3\.0 +42% eta 8s/);
  });

  it('tell why a model has failed', () => {
    expect(row('broken-70b')).toMatch(/FAILED .+ out of memory on CUDA0/);
  });

  it('mark an estimate, a pin and a block', () => {
    const world = createScreenWorld(
      sampleSnapshot({ models: [sampleModel('m', { pinned: true, blocked: true, claim: { CUDA0: 100 * MIB } })] }),
    );
    expect(lineWith(world.lines(), 'm m')).toMatch(/m m +\*B +BLOCKED .*~0\.1\/ +-/);
  });

  it('that are missing altogether come with where to look and what to do', () => {
    const text = createScreenWorld(sampleSnapshot()).text();
    expect(text).toContain('no models found');
    expect(text).toContain('looked in /home/user/models');
    expect(text).toContain('--models-dir');
  });
});

describe('the other panes', () => {
  it('say that there is nothing to do rather than nothing', () => {
    const text = createScreenWorld(sampleSnapshot()).text();
    expect(text).toContain('nobody waits');
    expect(text).toContain('nothing to measure');
    expect(text).toContain('nothing was decided yet');
  });

  it('list decisions newest first, with time, kind and sentence', () => {
    const lines = createScreenWorld(busySnapshot()).lines();
    const start = lines.findIndex((line) => line.startsWith('-- Decisions'));
    expect(lines[start + 1]).toMatch(/^ {2}\d\d:\d\d:\d\d evict +gemma-27b for llama4-scout/);
    expect(lines[start + 3]).toMatch(/admit +qwen3-32b/);
  });

  it('show the newest notice, and a lost connection before that', () => {
    const world = createScreenWorld(
      sampleSnapshot({ supervisor: { ...SAMPLE_SUPERVISOR, notices: ['old news', 'open to all without a key'] } }),
    );
    expect(world.lines()[1]).toContain('! open to all without a key');
    world.receive({ type: 'disconnected', reason: 'The supervisor has gone.' });
    expect(world.lines()[1]).toContain('! The supervisor has gone. Trying again.');
    expect(world.lines()[0]).toContain('LOST');
  });

  it('say in the title that the engine is simulated', () => {
    const supervisor = { ...SAMPLE_SUPERVISOR, engine: { name: 'sim', reason: 'asked for', simulated: true } };
    expect(createScreenWorld(sampleSnapshot({ supervisor })).lines()[0]).toContain('SIMULATED');
    expect(createScreenWorld(sampleSnapshot()).lines()[0]).not.toContain('SIMULATED');
  });
});

describe('what comes from outside', () => {
  it('reaches the screen without anything that a terminal would obey', () => {
    const mean = '\u001b[2J\u001b]0;gotcha\u0007\u202eevil\r\nname';
    const snapshot = busySnapshot();
    const world = createScreenWorld({
      ...snapshot,
      models: [sampleModel(mean, { word: 'invalid', invalid: mean, aliases: [mean] })],
      queue: snapshot.queue.map((entry) => ({ ...entry, model: mean, why: mean })),
      decisions: snapshot.decisions.map((decision) => ({ ...decision, model: mean, sentence: mean })),
      supervisor: { ...snapshot.supervisor, notices: [mean], sources: [mean] },
    });
    const pages = [[], ['return'], ['escape', 'w'], ['escape', 'L'], ['escape', 'U'], ['escape', '?']];
    for (const keys of pages) {
      world.press(...keys);
      world.screen.setState({ logTail: { model: mean, lines: [mean], error: null } });
      for (const line of world.lines()) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});
