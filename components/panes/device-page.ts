import type { Bytes, DeviceName, DeviceView, ReadDeviceView, UnreadDeviceView } from '../../src/client/types.js';
import { doubtShown } from '../text/device-doubt.js';
import { deviceFigures } from '../text/device-figures.js';
import { clockText, countText, sizeText, staleText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import type { ScreenView } from '../view.js';
import { section } from './ledger.js';
import { stateOf } from '../text/model-state.js';

const PROCESSES: readonly Column[] = [
  { key: 'bytes', title: 'HOLDS', width: 9, align: 'right' },
  { key: 'pid', title: 'PID', width: 8, align: 'right' },
  { key: 'name', title: 'NAME', width: 40, align: 'left' },
];

/** Less than this is what figures differ by that are not taken at the same moment. */
const WORTH_SAYING: Bytes = 1024 * 1024;

/** Everything that is known of one device: who holds it, ours and others, and how far that can be trusted. */
export function deviceRows(view: ScreenView, name: DeviceName): Row[] {
  const device = view.snapshot.devices.find((known) => known.name === name);
  if (device === undefined) return [[span('This device is no longer reported.')]];
  if (device.totalBytes === null) return unreadRows(view, device);
  const figures = deviceFigures(device);
  return [
    [span(device.description)],
    [
      span(
        `held ${figures.held} + reserved ${figures.reserved} + external ${figures.external} + free ${figures.free}` +
          ` = ${figures.total} ${figures.unit}`,
      ),
    ],
    [span(`${sizeText(device.marginBytes)} of the free memory is kept as margin`, 'dim')],
    ...(device.overcommitBytes > 0 ? [[span(`claims exceed it by ${sizeText(device.overcommitBytes)}`, 'bad')]] : []),
    ...section('Who holds it', holderRows(view, device)),
    ...section('External', externalRows(device, view.options.glyphs.cut)),
    ...section('Where these figures come from', sourceRows(device, view)),
  ];
}

/** What is known of a device that nobody has read yet, which is little, and nothing of it a figure of its own. */
function unreadRows(view: ScreenView, device: UnreadDeviceView): Row[] {
  return [
    [span(`${device.name} has never been read: its size, and what is free there, are not known.`)],
    [],
    [span('since'.padEnd(9), 'dim'), span(`${staleText(view.now - device.problemSince)} ago`)],
    ...problemRows(device.problem),
    ...section('What models claim there', holderRows(view, device)),
  ];
}

function problemRows(problem: string): Row[] {
  return [
    [span('problem'.padEnd(9), 'dim'), span(problem, 'bad')],
    [
      span(
        'Until it can be read nothing is loaded there: models that need it wait, and are refused after 30 s' +
          ' (unless --admission proceed, or no margin, lets them load).',
        'dim',
      ),
    ],
  ];
}

function holderRows(view: ScreenView, device: DeviceView): Row[] {
  if (device.segments.length === 0) return [[span('no model of ours', 'dim')]];
  return device.segments
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((segment): Row => {
      const model = view.snapshot.models.find((known) => known.id === segment.model);
      const state = model === undefined ? null : stateOf(model, view.snapshot);
      const pinned = model?.pinned === true ? ', pinned' : '';
      const requests =
        model !== undefined && model.requests > 0 ? `, ${countText(model.requests, 'request')} in flight` : '';
      return [
        span(sizeText(segment.bytes).padStart(9)),
        span(`  ${segment.part.padEnd(9)}  `, 'dim'),
        span(segment.model, 'strong'),
        ...(state === null ? [] : [span('  '), span(state.word, state.tone)]),
        span(`${pinned}${requests}`, 'dim'),
      ];
    });
}

function externalRows({ attributed, externalBytes, foreign }: ReadDeviceView, mark: string): Row[] {
  if (externalBytes === 0 && foreign.length === 0) return [[span('nothing else holds memory here')]];
  const how = attributed ? '' : '; the probe cannot tell which process holds what';
  const total: Row = [span(`${sizeText(externalBytes)} is held by programs that are not ours${how}`)];
  if (foreign.length === 0) return [total];
  const rest = externalBytes - foreign.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    total,
    headerRow(PROCESSES, mark),
    ...foreign.map(({ pid, name, bytes }) =>
      tableRow(
        PROCESSES,
        {
          bytes: { text: sizeText(bytes) },
          pid: { text: String(pid) },
          name: name === '' ? { text: '(not told)', tone: 'dim' } : { text: name },
        },
        mark,
      ),
    ),
    ...(rest < WORTH_SAYING
      ? []
      : [[span(`${sizeText(rest).padStart(9)}  the driver, and whoever is not listed`, 'dim')]]),
  ];
}

function sourceRows(device: ReadDeviceView, view: ScreenView): Row[] {
  const { source, sampledAt, remark, problem, utilizationPercent } = device;
  if (sampledAt === null) {
    return [
      [span('no probe serves it: its size is what models report, and what is used is what they claim', 'warn')],
      ...(problem === null ? [] : problemRows(problem)),
    ];
  }
  const doubt = doubtShown(device, view);
  const seen =
    doubt === null
      ? 'up to date'
      : `last read ${doubt.millis === null ? `at ${clockText(sampledAt)}` : `${staleText(doubt.millis)} ago`}`;
  return [
    [
      span('probe'.padEnd(9), 'dim'),
      span(source === '' ? 'unnamed' : source),
      span(`, ${seen}`, doubt === null ? 'dim' : 'warn'),
    ],
    ...(utilizationPercent === undefined || problem !== null
      ? []
      : [[span('busy'.padEnd(9), 'dim'), span(`${utilizationPercent}%`)]]),
    ...(remark === '' ? [] : [[span('remark'.padEnd(9), 'dim'), span(remark)]]),
    ...(problem === null ? [] : problemRows(problem)),
  ];
}
