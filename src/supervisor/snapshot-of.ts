import type { DeviceView, ModelView, Snapshot, SupervisorInfo } from '../client/types.js';
import type { ProbeSample } from '../devices/probe.js';
import { project, projectModel } from '../scheduler/project.js';
import type { DeviceView as SchedulerDeviceView, ModelView as SchedulerModelView } from '../scheduler/snapshot.js';
import type { State } from '../scheduler/state.js';
import type { ModelId } from '../scheduler/units.js';
import type { Children } from './children.js';

/** What a snapshot shows that the scheduler does not know. */
export interface Besides {
  readonly supervisor: SupervisorInfo;
  readonly activity: ProbeSample['activity'];
  /** What instances printed last. */
  readonly lines: LastLines;
}

type LastLines = Pick<Children, 'lastLinesOf'>;

export function snapshotOf(state: State, besides: Besides): Snapshot {
  const { models, devices, ...rest } = project(state);
  return {
    schema: 1,
    ...rest,
    devices: devices.map((device) => withActivity(device, besides)),
    models: models.map((model) => withLog(model, besides.lines)),
    supervisor: besides.supervisor,
  };
}

/** One model as the snapshot shows it, without the rest of it; null for an unknown one. */
export function viewOf(state: State, id: ModelId, lines: LastLines): ModelView | null {
  const view = projectModel(state, id);
  return view === null ? null : withLog(view, lines);
}

function withActivity(device: SchedulerDeviceView, { activity }: Pick<Besides, 'activity'>): DeviceView {
  if (device.totalBytes === null) return device;
  const percent = activity?.[device.name]?.utilizationPercent ?? null;
  return percent === null ? device : { ...device, utilizationPercent: Math.round(percent) };
}

function withLog(model: SchedulerModelView, lines: LastLines): ModelView {
  const { id, lastExit } = model;
  if (lastExit === null) return { ...model, lastExit };
  return { ...model, lastExit: { ...lastExit, lastLines: lines.lastLinesOf(id, lastExit.generation) } };
}
