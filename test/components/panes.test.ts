import { describe, expect, it } from 'vitest';
import { loadingText } from '../../components/panes/models.js';
import type { ModelView } from '../../src/client/types.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import {
  busySnapshot,
  readyModel,
  SAMPLE_SUPERVISOR,
  SAMPLE_TIME,
  sampleDecision,
  sampleDevice,
  sampleModel,
  sampleQueueEntry,
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

describe('the memory of models', () => {
  it('is told for their devices, and for the host apart where there is room', () => {
    const claim = { CUDA0: 8 * GIB, Host: 3 * GIB };
    const models = [
      readyModel('split', 0, { claim, resident: { CUDA0: 9 * GIB, Host: 2 * GIB }, devices: ['CUDA0', 'Host'] }),
      readyModel('host-only', 0, { claim: { Host: 5 * GIB }, resident: { Host: 4 * GIB }, devices: ['Host'] }),
      readyModel('device-only', 7 * GIB),
    ];
    const wide = createScreenWorld(sampleSnapshot({ models }), { columns: 200 }).lines();
    expect(lineWith(wide, 'NAME')).toMatch(/GiB min\/used {2}HOST +CTX/);
    expect(lineWith(wide, ' split')).toMatch(/READY +0 +8\.0\/ 9\.0 +2\.0 +32k/);
    expect(lineWith(wide, 'host-only')).toMatch(/READY +Host +5\.0\/ 4\.0 +4\.0 +32k/);
    expect(lineWith(wide, 'device-only')).toMatch(/READY +0 +7\.0\/ 7\.0 +- +32k/);
    const narrow = createScreenWorld(sampleSnapshot({ models }), { columns: 100 }).lines();
    expect(lineWith(narrow, 'NAME')).not.toContain('HOST');
    expect(lineWith(narrow, ' split')).toMatch(/8\.0\/ 9\.0 /);
  });

  it('has no column for the host where no model uses it beside a device', () => {
    const models = [readyModel('device-only', 7 * GIB)];
    expect(createScreenWorld(sampleSnapshot({ models }), { columns: 200 }).text()).not.toContain('HOST');
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

  it('say how busy a device is where that is known and there is room', () => {
    const devices = [sampleDevice('CUDA0', { utilizationPercent: 71 }), sampleDevice('CUDA1')];
    const wide = createScreenWorld(sampleSnapshot({ devices }), { columns: 140, rows: 24 }).lines();
    expect(lineWith(wide, 'CUDA0')).toMatch(/24\.0 GiB {2}util 71%$/);
    expect(lineWith(wide, 'CUDA1')).toMatch(/24\.0 GiB$/);
    expect(lineWith(createScreenWorld(sampleSnapshot({ devices }), { columns: 100 }).lines(), 'CUDA0')).toMatch(
      / util 71%$/,
    );
    expect(createScreenWorld(sampleSnapshot({ devices }), { columns: 80 }).text()).not.toContain('util');
  });

  it('says in a word that a driver hides who holds what; the page of the device has the rest', () => {
    const devices = [
      sampleDevice('CUDA0', { attributed: false, remark: 'hidden', utilizationPercent: 71 }),
      sampleDevice('CUDA1'),
    ];
    const lines = createScreenWorld(sampleSnapshot({ devices }), { columns: 120 }).lines();
    expect(lineWith(lines, 'CUDA0')).toMatch(/24\.0 GiB +util 71% +by claims$/);
    expect(lineWith(lines, 'CUDA1')).not.toContain('by claims');
    expect(createScreenWorld(sampleSnapshot({ devices }), { columns: 80 }).text()).toMatch(/24\.0 GiB +by claims/);
    expect(createScreenWorld(sampleSnapshot({ devices }), { columns: 60 }).text()).not.toContain('by claims');
  });

  it('say at once that a device cannot be read, since when, and why where there is room', () => {
    const problem = 'nvml: Driver/library version mismatch (nvmlInit_v2, code 18)';
    const parts = { sampledAt: SAMPLE_TIME - 1_200, problem, utilizationPercent: 71 };
    const snapshot = sampleSnapshot({ devices: [sampleDevice('CUDA0', parts)] });
    expect(lineWith(createScreenWorld(snapshot, { columns: 140 }).lines(), 'CUDA0')).toMatch(
      / stale 1s {2}nvml: Dr.*\.\.$/,
    );
    const wide = lineWith(createScreenWorld(snapshot, { columns: 170 }).lines(), 'CUDA0');
    expect(wide).toMatch(/ stale 1s {2}nvml: Driver\/library version/);
    expect(wide).not.toContain('util');
    for (const columns of [60, 80, 100]) {
      expect(lineWith(createScreenWorld(snapshot, { columns, rows: 24 }).lines(), 'CUDA0')).toMatch(/stale 1s$/);
    }
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

  it('share the cells of an overcommitted device as its figures are, and draw nothing of what these leave out', () => {
    const device = sampleDevice('CUDA0', {
      segments: [
        { model: 'phi-4', part: 'held', bytes: 12 * GIB },
        { model: 'phi-4', part: 'reserved', bytes: 4 * GIB },
      ],
      reservedBytes: 0,
      externalBytes: 12 * GIB,
      overcommitBytes: 4 * GIB,
    });
    for (const columns of [60, 80, 100, 140, 200]) {
      const world = createScreenWorld(sampleSnapshot({ devices: [device] }), { columns, rows: 24 });
      const cells = /\[(.*?)\]/u.exec(lineWith(world.lines(), 'CUDA0'))?.[1] ?? '';
      const { external } = world.view().options.glyphs;
      const others = Array.from(cells).filter((glyph) => glyph === external).length;
      expect(Math.abs(2 * others - cells.length), cells).toBeLessThanOrEqual(1);
      expect(new Set(cells).size, cells).toBe(2);
    }
  });

  it('leave room for the whole description of a device where there is some', () => {
    const description = 'System memory, 2 CPU threads';
    const snapshot = sampleSnapshot({ devices: [sampleDevice('Host', { description })] });
    expect(createScreenWorld(snapshot, { columns: 160, rows: 30 }).text()).toContain(description);
    const stale = sampleSnapshot({ devices: [sampleDevice('Host', { description, sampledAt: SAMPLE_TIME - 55_000 })] });
    expect(lineWith(createScreenWorld(stale, { columns: 160, rows: 30 }).lines(), 'Host')).toMatch(
      /System memory, 2 CPU threads .*stale 50s$/,
    );
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

  it('say where they come from where the screen is wide, and on their own page at any width', () => {
    const models = [
      readyModel('a', GIB, { origin: '/etc/llm/models.ini:3' }),
      sampleModel('b', { origin: `/srv/${'deep/'.repeat(40)}b-q4_k_m.gguf` }),
      sampleModel('c'),
    ];
    const wide = createScreenWorld(sampleSnapshot({ models }), { columns: 250, rows: 30 });
    expect(wide.text()).toMatch(/IDLE +FROM/);
    expect(wide.text()).toMatch(/a a .* 5m +\/etc\/llm\/models\.ini:3/);
    expect(wide.text()).toMatch(/b b .*\/srv\/deep.*\.\..*k_m\.gguf/);
    const narrow = createScreenWorld(sampleSnapshot({ models }), { columns: 100, rows: 30 });
    expect(narrow.text()).not.toContain('FROM');
    narrow.press('return');
    expect(narrow.text()).toMatch(/from +\/etc\/llm\/models\.ini:3/);
  });

  it('tell state, device, memory, context, requests and idle time in words and numbers', () => {
    expect(row('m mixtral-8x7b')).toMatch(/WAITING +0 +~8\.0\/ +- +- +\+1 +-/);
    expect(row('phi-4')).toMatch(/p phi-4 +READY +1 +7\.9\/ +7\.9 +16k +0 +5m/);
    expect(row('qwen3-32b')).toMatch(/qwen3-32b +\* +READY +0 +11\.2\/11\.2 +32k +2\+1 +-/);
  });

  it('tell how far loading is and how long it will take, by the load before', () => {
    expect(row('llama4-scout')).toMatch(/LOADING +0 +~6\.3\/ +3\.0 +42% eta 8s/);
  });

  it('say of a load without progress how long it takes already, and that it is late only when it is', () => {
    const text = (elapsed: number, parts: Partial<ModelView> = {}): string =>
      loadingText(
        sampleModel('m', {
          word: 'loading',
          progress: 0,
          loadMillis: 15_000,
          loadingSince: SAMPLE_TIME - elapsed,
          ...parts,
        }),
        SAMPLE_TIME,
      );
    expect(text(3_000)).toBe('for 3s eta 12s');
    expect(text(3_000, { progress: null })).toBe('for 3s eta 12s');
    expect(text(3_000, { loadMillis: null })).toBe('for 3s');
    expect(text(16_000)).toBe('for 16s');
    expect(text(17_500, { progress: 0.98 })).toBe('98% for 17s');
    expect(text(19_000)).toBe('for 19s late 4s');
    expect(text(19_000, { progress: 0.98 })).toBe('98% late 4s');
    expect(text(2_500, { loadMillis: 1_000 })).toBe('for 2s');
    expect(text(3_500, { loadMillis: 1_000 })).toBe('for 3s late 2s');
  });

  it.each([60, 80, 100])('tell how long a load will take also at %i columns', (columns) => {
    const world = createScreenWorld(busySnapshot(), { columns, rows: 24 });
    expect(lineWith(world.lines(), 'LOADING')).toMatch(/eta 8s/);
  });

  it.each([60, 80, 100, 140])('stay apart by name at %i columns where they differ only at the end', (columns) => {
    const ids = ['q4_k_m', 'q8_0'].map((variant) => `org/some-very-long-model-name-instruct-70b-${variant}`);
    const models = ids.map((id) => readyModel(id, GIB));
    const lines = createScreenWorld(sampleSnapshot({ models }), { columns, rows: 24 }).lines();
    expect(lines.filter((line) => line.includes('q4_k_m'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('70b-q8_0'))).toHaveLength(1);
  });

  it('have all of a name where the pane has room for it', () => {
    const id = 'a-name-of-27-letters-or-so-x';
    const models = [readyModel(id, GIB)];
    expect(createScreenWorld(sampleSnapshot({ models }), { columns: 80, rows: 24 }).text()).toContain(id);
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
    expect(lines[start + 1]).toMatch(/^ {2}\d\d:\d\d:\d\d #3 +evict +gemma-27b for llama4-scout/);
    expect(lines[start + 3]).toMatch(/#1 +admit +qwen3-32b/);
  });

  it('give the numbers of decisions where there is room, and find a decision by its number', () => {
    expect(createScreenWorld(busySnapshot(), { columns: 100, rows: 30 }).text()).toMatch(/#3 +evict/);
    const narrow = createScreenWorld(busySnapshot(), { columns: 99, rows: 30 });
    expect(narrow.text()).not.toContain('#3');
    narrow.press('/', '#', '3', 'return', 'escape', '/', '#', '3');
    expect(narrow.view().lists.decisions.map((decision) => decision.number)).toEqual([3]);
  });

  it('tell why something waits without its name again, and the whole reason where there is room', () => {
    const why = 'mixtral-8x7b: the only place is taken (--models-max 1); qwen3-32b is occupied';
    const queue = [sampleQueueEntry(1, 'mixtral-8x7b', { why })];
    for (const columns of [60, 80, 100, 140]) {
      const world = createScreenWorld({ ...busySnapshot(), queue }, { columns, rows: 30 });
      world.press('3');
      expect(world.text()).toMatch(/mixtral-8x7b +12s the only/);
      // Beside the other panes under it there is no room at 80.
      if (columns !== 80) expect(world.text()).toContain('occupied');
    }
  });

  it('show the newest notice, and a lost connection before that', () => {
    const world = createScreenWorld(
      sampleSnapshot({ supervisor: { ...SAMPLE_SUPERVISOR, notices: ['old news', 'open to all without a key'] } }),
    );
    expect(world.lines()[1]).toContain('! open to all without a key');
    world.receive({ type: 'disconnected', reason: 'The supervisor has gone.' });
    expect(world.lines()[1]).toMatch(
      /! no connection since \d\d:\d\d:\d\d, trying again; .*: The supervisor has gone\./,
    );
    expect(world.lines()[0]).toContain('LOST');
  });

  it('say in the title that the engine is simulated', () => {
    const supervisor = { ...SAMPLE_SUPERVISOR, engine: { name: 'sim', reason: 'asked for', simulated: true } };
    expect(createScreenWorld(sampleSnapshot({ supervisor })).lines()[0]).toContain('SIMULATED');
    expect(createScreenWorld(sampleSnapshot()).lines()[0]).not.toContain('SIMULATED');
  });
});

describe('the title', () => {
  const title = (parts: Parameters<typeof sampleSnapshot>[0]): string =>
    createScreenWorld(sampleSnapshot(parts)).lines()[0] ?? '';
  const loading = sampleModel('b', { word: 'loading', generation: 1 });

  it('counts a model as ready only once it is', () => {
    const models = [readyModel('a', GIB), loading, sampleModel('c')];
    expect(title({ models })).toContain('1 ready, 1 loading of 3');
    expect(title({ models: [readyModel('a', GIB), sampleModel('c')] })).toContain('1 of 2 models ready');
    for (const word of ['sleeping', 'parked'] as const) {
      const asleep = { ...readyModel('b', GIB), word };
      expect(title({ models: [readyModel('a', GIB), asleep, sampleModel('c')] })).toContain('1 ready, 1 asleep of 3');
    }
  });

  it('calls queued only what somebody waits for', () => {
    const models = [loading, sampleModel('c'), sampleModel('d')];
    const queue = [
      sampleQueueEntry(1, 'b', { wantedBy: 'operator' }),
      sampleQueueEntry(2, 'c', { wantedBy: 'pin' }),
      sampleQueueEntry(3, 'd', { wantedBy: 'requests' }),
    ];
    expect(title({ models, queue })).toContain('0 ready, 1 loading, 1 to load of 3  1 queued');
    expect(title({ models, queue: queue.slice(0, 1) })).not.toContain('queued');
  });

  it('says when nothing has come for too long from a supervisor that takes samples', () => {
    const world = createScreenWorld(busySnapshot());
    world.pass(4_900);
    expect(world.lines()[0]).toContain('LIVE');
    world.pass(2_200);
    expect(world.lines()[0]).toContain('SILENT 7s');
    world.receive({ type: 'delta', delta: { at: SAMPLE_TIME + 7_100 } });
    expect(world.lines()[0]).toContain('LIVE');
    const unsampled = createScreenWorld(sampleSnapshot({ devices: [sampleDevice('CUDA0', { sampledAt: null })] }));
    unsampled.pass(60_000);
    expect(unsampled.lines()[0]).toContain('LIVE');
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
    world.receive({
      type: 'delta',
      delta: {
        at: SAMPLE_TIME,
        devices: [
          sampleDevice(mean, {
            description: mean,
            remark: mean,
            problem: mean,
            source: mean,
            foreign: [{ pid: 7, name: mean, bytes: GIB }],
          }),
        ],
      },
    });
    world.press('1', 'return');
    for (const line of world.lines()) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(world.text()).toMatch(/ 7 +.*\\u202eevil\\r\\nname/);
    world.press('escape', '2');
    const pages = [[], ['return'], ['escape', 'w'], ['escape', 'L'], ['escape', 'U'], ['escape', '?']];
    for (const keys of pages) {
      world.press(...keys);
      world.screen.setState({ logTail: { model: mean, lines: [mean], dropped: 0, error: null } });
      for (const line of world.lines()) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});

describe('the last work of a model', () => {
  it.each([
    [0, 'none since it came up'],
    [20_000, '40s ago'],
  ])('is what it did after it came up, %i ms later', (after, said) => {
    const at = SAMPLE_TIME - 60_000;
    const world = createScreenWorld(
      sampleSnapshot({
        models: [readyModel('phi-4', GIB, { requests: 0, lastUsedAt: at + after })],
        decisions: [sampleDecision(1, { kind: 'ready', model: 'phi-4', at })],
      }),
    );
    world.press('return');
    expect(world.text()).toMatch(new RegExp(`last work +${said}`, 'u'));
  });
});
