import type { Decision, DeviceFigures, PassedOver, Victim } from '../../src/client/types.js';
import { demandFigures, deviceFigures } from '../text/device-figures.js';
import { clockText, countText, durationText, sizeText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import { fitColumns, headerRow, tableRow, type Column } from '../widgets/table.js';
import { kindTone } from './decisions.js';

const LEDGER: readonly Column[] = [
  { key: 'device', title: 'DEVICE', width: 8, align: 'left' },
  { key: 'need', title: 'need', width: 6, align: 'right' },
  { key: 'available', title: 'avail', width: 6, align: 'right' },
  { key: 'short', title: 'short', width: 6, align: 'right' },
  { key: 'held', title: 'held', width: 6, align: 'right' },
  { key: 'reserved', title: 'resvd', width: 6, align: 'right' },
  { key: 'external', title: 'extern', width: 6, align: 'right' },
  { key: 'free', title: 'free', width: 6, align: 'right' },
  { key: 'total', title: 'total', width: 6, align: 'right' },
  { key: 'margin', title: 'margin', width: 6, align: 'right' },
  { key: 'unit', title: '', width: 3, align: 'left' },
];

/** The columns that a narrow table does without; what was short, and of how much, it always says. */
const GIVEN_UP: readonly string[] = ['margin', 'reserved', 'external', 'held', 'available'];

/**
 * The whole record of a decision in a width of `width` cells: what was known, what was planned, who was considered
 * and why not.
 */
export function decisionRows(decision: Decision, width: number, mark: string): Row[] {
  return [
    [
      // A decision that was only thought through has no number.
      ...(decision.number === 0 ? [] : [span(`#${decision.number} `, 'dim')]),
      span(clockText(decision.at), 'dim'),
      span(' '),
      span(decision.kind, kindTone(decision.kind)),
      span(' '),
      span(decision.model, 'strong'),
      ...(decision.forModel === null ? [] : [span(' for '), span(decision.forModel, 'strong')]),
    ],
    [span(decision.sentence)],
    [span(`${askerText(decision)}; running ${decision.runningInstances}${limitText(decision.modelsMax)}`, 'dim')],
    ...section('Ledger at that moment', ledgerRows(decision.ledger, width - SECTION_INDENT, mark)),
    ...section(
      'Leaves to make room',
      decision.plan.map((victim) => [span(victimText(victim))]),
    ),
    ...section(
      'Considered and passed over',
      decision.passedOver.map((passed) => [span(passedText(passed))]),
    ),
  ];
}

/** The table of the devices of a decision, in `width` cells. */
export function ledgerRows(ledger: readonly DeviceFigures[], width: number, mark: string): Row[] {
  if (ledger.length === 0) return [];
  const columns = fitColumns(LEDGER, width, GIVEN_UP);
  return [
    headerRow(columns, mark),
    ...ledger.map((device) => {
      const figures = deviceFigures(device);
      const demand = demandFigures(device);
      return tableRow(
        columns,
        {
          device: { text: device.device },
          held: { text: figures.held },
          reserved: { text: figures.reserved },
          external: { text: figures.external },
          free: { text: figures.free },
          total: { text: figures.total },
          unit: { text: figures.unit, tone: 'dim' },
          margin: { text: demand.margin },
          available: { text: demand.available, tone: device.availableBytes < 0 ? 'bad' : 'plain' },
          need: { text: demand.need },
          short: { text: demand.short, tone: device.deficitBytes > 0 ? 'bad' : 'plain' },
        },
        mark,
      );
    }),
  ];
}

/** How far the rows of a section stand in. */
export const SECTION_INDENT = 2;

/** A title and what belongs to it; nothing when there is nothing. */
export function section(title: string, rows: readonly Row[]): Row[] {
  if (rows.length === 0) return [];
  return [[], [span(title, 'strong')], ...rows.map((row) => [span(' '.repeat(SECTION_INDENT)), ...row])];
}

function victimText(victim: Victim): string {
  const gives = Object.entries(victim.givesBytes).map(([device, bytes]) => `${sizeText(bytes)} on ${device}`);
  const what =
    victim.requests === undefined
      ? `idle ${durationText(victim.idleMillis)}`
      : `once its ${countText(victim.requests, 'request')} ended`;
  return `${victim.model}: ${what}, gives ${gives.join(', ') || 'nothing'}`;
}

function passedText(passed: PassedOver): string {
  const { model, reason, requests } = passed;
  if (reason === 'stopping' && requests > 0) return `${model}: leaves once its ${countText(requests, 'request')} ended`;
  return `${model}: ${reason}${reason === 'busy' ? ` (${countText(requests, 'request')} in flight)` : ''}`;
}

function askerText(decision: Decision): string {
  const { asker } = decision;
  switch (asker.kind) {
    case 'request':
      return `asked by request ${asker.request}`;
    case 'operator':
      return 'asked by the operator';
    case 'pin':
      return 'asked by a pin';
    case 'startup':
      return 'asked by its preset (load-on-startup)';
    case 'system':
      // It tells what has come about; who asked for the load is in the decision that began it.
      return 'noted by the supervisor';
  }
}

function limitText(modelsMax: number): string {
  return modelsMax === 0 ? ', no limit' : ` of at most ${modelsMax}`;
}
