import type {
  DeviceView,
  ModelView,
  OutOfMemoryReport,
  RequestView,
  Snapshot,
  SupervisorInfo,
} from '../client/types.js';
import type { ProbeSample } from '../devices/probe.js';
import { project, projectModel } from '../scheduler/project.js';
import type { DeviceView as SchedulerDeviceView, ModelView as SchedulerModelView } from '../scheduler/snapshot.js';
import type { State } from '../scheduler/state.js';
import type { ModelId } from '../scheduler/units.js';
import type { CatalogEntry } from '../catalog/entry.js';
import type { ModelBook } from './model-book.js';
import type { Children } from './children.js';

/** What a snapshot shows that the scheduler does not know. */
export interface Besides {
  readonly supervisor: SupervisorInfo;
  readonly activity: ProbeSample['activity'];
  readonly about: About;
  readonly requests: readonly RequestView[];
  readonly outOfMemory: readonly OutOfMemoryReport[];
}

/** Who knows more of models than the scheduler does: what instances printed last, and where entries come from. */
export interface About {
  readonly lines: Pick<Children, 'lastLinesOf'>;
  readonly book: Pick<ModelBook, 'entry'>;
}

export function snapshotOf(state: State, besides: Besides): Snapshot {
  const { models, devices, ...rest } = project(state);
  return {
    schema: 1,
    ...rest,
    devices: devices.map((device) => withActivity(device, besides)),
    models: models.map((model) => withAbout(model, besides.about)),
    supervisor: besides.supervisor,
    requests: besides.requests,
    outOfMemory: besides.outOfMemory,
  };
}

/** One model as the snapshot shows it, without the rest of it; null for an unknown one. */
export function viewOf(state: State, id: ModelId, about: About): ModelView | null {
  const view = projectModel(state, id);
  return view === null ? null : withAbout(view, about);
}

function withActivity(device: SchedulerDeviceView, { activity }: Pick<Besides, 'activity'>): DeviceView {
  if (device.totalBytes === null) return device;
  const percent = activity?.[device.name]?.utilizationPercent ?? null;
  return percent === null ? device : { ...device, utilizationPercent: Math.round(percent) };
}

function withAbout(model: SchedulerModelView, { lines, book }: About): ModelView {
  const { id, lastExit } = model;
  const entry = book.entry(id);
  return {
    ...model,
    ...(entry === null ? {} : { origin: originOf(entry) }),
    lastExit: lastExit === null ? null : { ...lastExit, lastLines: lines.lastLinesOf(id, lastExit.generation) },
  };
}

function originOf({ source, files }: CatalogEntry): string {
  if (source.kind === 'preset') return `${source.path}${source.line === null ? '' : `:${source.line}`}`;
  return files?.shards[0] ?? source.path;
}
