import { describe, expect, it } from 'vitest';
import type { DeviceReading, ProbeFailure } from '../../src/scheduler/events.js';
import { project } from '../../src/scheduler/project.js';
import { GIB, type Millis } from '../../src/scheduler/units.js';
import { spec, Stage } from '../support/stage.js';

const BROKEN: ProbeFailure = { devices: ['CUDA0'], message: 'nvml: Driver Not Loaded (nvmlInit_v2, code 9)' };
const UNASKED: ProbeFailure = { devices: ['CUDA0'], message: 'nvidia: CUDA0 cannot be asked', lasting: true };

const reading = (name: string, gib: number, used = 0): DeviceReading => ({
  name,
  kind: name === 'Host' ? 'host' : 'discrete',
  description: '',
  totalBytes: gib * GIB,
  usedBytes: used * GIB,
  attributed: true,
});

/** A machine whose GPU could never be read, with a model for the GPU and one for the processor. */
const machine = (failure = BROKEN, settings: ConstructorParameters<typeof Stage>[0] = {}): Stage =>
  look(new Stage({ marginBytes: GIB, ...settings }), failure).catalog(
    spec('gpu', { CUDA0: 8 }),
    spec('cpu', { Host: 4 }),
  );

const look = (stage: Stage, failure: ProbeFailure | null, later: Millis = 1, used = 2): Stage =>
  stage.play(
    {
      type: 'sample',
      takenAt: stage.now + later,
      devices: failure === null ? [reading('CUDA0', 24, used), reading('Host', 64)] : [reading('Host', 64)],
      instances: [],
      ...(failure === null ? {} : { failures: [failure] }),
    },
    later,
  );

describe('a GPU that could never be read', () => {
  it('is shown without any figure, and takes no load on figures that nobody has seen', () => {
    const stage = machine();
    stage.request('gpu');
    expect(stage.did('spawn')).toEqual([]);
    expect(stage.decisions[0]?.sentence).toBe(
      `gpu: CUDA0 cannot be read, so nobody knows what is free there: ${BROKEN.message}`,
    );
    const since = stage.state.unread?.['CUDA0']?.problemSince;
    expect(since).toBeGreaterThan(0);
    look(stage, BROKEN, 5000);
    const [gpu, host] = project(stage.state).devices;
    expect(gpu).toMatchObject({
      name: 'CUDA0',
      kind: null,
      problem: BROKEN.message,
      problemSince: since,
      segments: [],
    });
    expect(
      Object.entries(gpu ?? {}).filter(([key, value]) => typeof value === 'number' && key !== 'problemSince'),
    ).toEqual([]);
    expect(host?.name).toBe('Host');
  });

  it('keeps nothing from the processor', () => {
    const stage = machine();
    stage.request('gpu');
    stage.request('cpu');
    expect(stage.did('spawn')).toEqual(['cpu']);
  });

  it('is waited for half a minute, then requests are told, in the driver’s words', () => {
    const stage = machine();
    const request = stage.request('gpu');
    look(stage, { ...BROKEN, message: 'nvml does not answer' }, 29_000);
    expect(stage.rejected.size).toBe(0);
    look(stage, BROKEN, 1500);
    expect(stage.rejected.get(request)).toMatchObject({ status: 503, code: 'device_unreadable' });
    expect(stage.rejected.get(request)?.message).toContain('Driver Not Loaded');
  });

  it('is loaded on once it is read, by its figures', () => {
    const stage = machine();
    stage.request('gpu');
    look(stage, null);
    expect(stage.did('spawn')).toEqual(['gpu']);
    expect(stage.state.unread).toBeUndefined();
    const full = machine();
    const request = full.request('gpu');
    look(full, null, 1, 20);
    expect(full.rejected.get(request)?.message).toContain('20.0 GiB used by others');
  });

  it.each([
    ['the user said so', { admission: 'proceed' }],
    ['memory limits nothing', { marginBytes: 0 }],
  ] as const)('is loaded on all the same where %s', (_case, settings) => {
    const stage = machine(BROKEN, settings);
    stage.request('gpu');
    expect(stage.did('spawn')).toEqual(['gpu']);
    const [gpu] = project(stage.state).devices;
    expect([gpu?.totalBytes, gpu?.segments]).toEqual([null, [{ model: 'gpu', part: 'reserved', bytes: 8 * GIB }]]);
  });

  it('keeps its place when it, or another, comes to be read', () => {
    const both = { ...BROKEN, devices: ['CUDA0', 'CUDA1'] };
    const stage = new Stage();
    const orders = [
      { devices: [reading('ROCm0', 16), reading('Host', 64)], failures: [both] },
      { devices: [reading('ROCm0', 16), reading('CUDA1', 24), reading('Host', 64)], failures: [BROKEN] },
      { devices: ['ROCm0', 'CUDA0', 'CUDA1', 'Host'].map((name) => reading(name, 24)), failures: [] },
    ].map((seen) => {
      stage.play({ type: 'sample', takenAt: stage.now, instances: [], ...seen });
      return project(stage.state).devices.map(({ name }) => name);
    });
    expect(new Set(orders.map(String))).toEqual(new Set(['ROCm0,CUDA0,CUDA1,Host']));
  });

  it('is forgotten when nothing speaks for it any more', () => {
    const stage = machine();
    stage.request('gpu');
    stage.play({ type: 'sample', takenAt: stage.now, devices: [reading('Host', 64)], instances: [] });
    expect(stage.did('spawn')).toEqual(['gpu']);
  });

  it('is not measured on while its driver does not answer, and is as soon as it does', () => {
    const stage = machine(BROKEN, { measures: true });
    expect(stage.state.measuring?.model).toBe('cpu');
    const measured = (model: string): Stage => {
      const { fingerprint, placements } = stage.model(model).spec;
      return stage.play({ type: 'measured', model, fingerprint, placements, reason: '' });
    };
    measured('cpu');
    const request = stage.request('gpu');
    expect(stage.state.measuring, 'a request changes nothing about that').toBe(null);
    expect(stage.state.queue[0]?.why).toContain('Driver Not Loaded');
    stage.play({ type: 'sample', takenAt: stage.now, devices: [reading('CUDA0', 24)], instances: [] });
    expect(stage.state.measuring?.model).toBe('gpu');
    measured('gpu');
    expect(stage.did('spawn')).toEqual(['gpu']);
    expect(stage.rejected.has(request)).toBe(false);
  });

  it('is waited for by a model that the processor could take too, since that is for what no device can', () => {
    const placements = [{ CUDA0: 8 * GIB }, { Host: 8 * GIB }].map((need) => ({ need, quality: 'estimate' }) as const);
    const stage = look(new Stage({ measures: true }), BROKEN).catalog(spec('both', {}, { placements }));
    stage.request('both');
    expect([stage.state.measuring, stage.did('spawn')]).toEqual([null, []]);
    expect(stage.state.queue[0]?.why).toContain('Driver Not Loaded');
  });

  it('is no better known by a child’s report while its driver fails', () => {
    const stage = machine(BROKEN, { measures: true });
    const { fingerprint, placements } = stage.model('cpu').spec;
    const reports = [{ name: 'CUDA0', totalBytes: 24 * GIB, freeBytes: 24 * GIB }];
    stage.play({ type: 'measured', model: 'cpu', fingerprint, placements, reports, reason: '' });
    stage.request('gpu');
    expect([stage.did('spawn'), stage.state.measuring]).toEqual([[], null]);
    expect(stage.state.queue[0]?.why).toContain('Driver Not Loaded');
    look(stage, BROKEN);
    expect(project(stage.state).devices[0]).toMatchObject({ name: 'CUDA0', problem: BROKEN.message, sampledAt: null });
    stage.play({ type: 'sample', takenAt: stage.now, devices: [reading('Host', 64)], instances: [] });
    expect(project(stage.state).devices[0]).toMatchObject({ name: 'CUDA0', problem: null });
  });
});

describe('a GPU that no probe will ever read', () => {
  it('is waited for until a child has told of it; its report counts', () => {
    const stage = machine(UNASKED, { measures: true });
    stage.request('gpu');
    expect([stage.state.measuring?.model, stage.did('spawn')]).toEqual(['gpu', []]);
    const { fingerprint, placements } = stage.model('gpu').spec;
    const reports = [{ name: 'CUDA0', totalBytes: 24 * GIB, freeBytes: 20 * GIB }];
    stage.play({ type: 'measured', model: 'gpu', fingerprint, placements, reports, reason: '' });
    expect(stage.did('spawn')).toEqual(['gpu']);
    look(stage, UNASKED);
    expect(project(stage.state).devices.find(({ name }) => name === 'CUDA0')).toMatchObject({
      totalBytes: 24 * GIB,
      externalBytes: 4 * GIB,
      problem: null,
    });
  });

  it('is as large as the engine’s program says, where it does', () => {
    const stage = machine(UNASKED);
    stage.request('gpu');
    expect(stage.did('spawn')).toEqual([]);
    stage.play({ type: 'reported', reports: [{ name: 'CUDA0', totalBytes: 24 * GIB, freeBytes: 9 * GIB }] });
    expect(stage.did('spawn')).toEqual(['gpu']);
    look(stage, UNASKED);
    const { totalBytes, externalBytes, sampledAt, problem } = project(stage.state).devices.find(
      ({ name }) => name === 'CUDA0',
    ) ?? { totalBytes: 0 };
    expect([totalBytes, externalBytes, sampledAt, problem]).toEqual([24 * GIB, 15 * GIB, null, null]);
  });

  it('is refused where no child can tell either', () => {
    const stage = machine(UNASKED);
    const request = stage.request('gpu');
    look(stage, UNASKED, 30_000);
    expect(stage.rejected.get(request)?.message).toContain('cannot be asked');
  });
});

describe('a machine on which a driver has come up', () => {
  const before = spec('gpu', { Host: 8 });
  const after = spec('gpu', { CUDA0: 8 });

  it('measures its models anew, on what there is now', () => {
    const stage = look(new Stage({ measures: true }), null).catalog(before);
    const { fingerprint, placements } = before;
    stage.play({ type: 'measured', model: 'gpu', fingerprint, placements, reason: '' });
    stage.catalog(after);
    expect([stage.model('gpu').measured, stage.state.measuring?.model]).toEqual([null, 'gpu']);
  });

  it('knows again what earlier runs have left for it', () => {
    const stage = look(new Stage({ measures: true }), null).catalog(after);
    const known = { measured: after.placements, observed: { CUDA0: 9 * GIB }, loadMillis: 5 };
    stage.catalog({ ...after, known });
    expect(stage.model('gpu')).toMatchObject({ ...known, measure: 'measured' });
    expect(stage.state.measuring).toBe(null);
  });

  it('keeps what runs running, and its figures', () => {
    const stage = look(new Stage(), null).catalog(before).load('gpu');
    stage.catalog(after);
    expect(stage.did('stop')).toEqual([]);
    expect(stage.instance('gpu').claim).toEqual({ Host: 8 * GIB });
  });
});
