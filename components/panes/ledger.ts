import type { Decision, DeviceFigures, ModelId, PassedOver, Victim } from '../../src/client/types.js';
import { clockText, countText, durationText, gibText, sizeText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import { kindTone } from './decisions.js';

/** What decides comes first: on a narrow screen the end is cut off. */
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
];

/** The whole record of a decision: what was known, what was planned, who was considered and why not. */
export function decisionRows(decision: Decision, mark: string): Row[] {
  return [
    [
      span(`#${decision.number} `, 'dim'),
      span(clockText(decision.at), 'dim'),
      span(' '),
      span(decision.kind, kindTone(decision.kind)),
      span(' '),
      span(decision.model, 'strong'),
      ...(decision.forModel === null ? [] : [span(' for '), span(decision.forModel, 'strong')]),
    ],
    [span(decision.sentence)],
    [
      span(
        `asked by ${askerText(decision)}; running ${decision.runningInstances}${limitText(decision.modelsMax)}`,
        'dim',
      ),
    ],
    ...section('Ledger at that moment (GiB)', ledgerRows(decision.ledger, mark)),
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

function ledgerRows(figures: readonly DeviceFigures[], mark: string): Row[] {
  if (figures.length === 0) return [];
  return [
    headerRow(LEDGER, mark),
    ...figures.map((device) =>
      tableRow(
        LEDGER,
        {
          device: { text: device.device },
          held: { text: gibText(device.heldBytes) },
          reserved: { text: gibText(device.reservedBytes) },
          external: { text: gibText(device.externalBytes) },
          free: { text: gibText(device.freeBytes) },
          total: { text: gibText(device.totalBytes) },
          margin: { text: gibText(device.marginBytes) },
          available: { text: signedGib(device.availableBytes), tone: device.availableBytes < 0 ? 'bad' : 'plain' },
          need: { text: gibText(device.needBytes) },
          short: { text: gibText(device.deficitBytes), tone: device.deficitBytes > 0 ? 'bad' : 'plain' },
        },
        mark,
      ),
    ),
  ];
}

/** A title and what belongs to it; nothing when there is nothing. */
export function section(title: string, rows: readonly Row[]): Row[] {
  if (rows.length === 0) return [];
  return [[], [span(title, 'strong')], ...rows.map((row) => [span('  '), ...row])];
}

function signedGib(bytes: number): string {
  return bytes < 0 ? `-${gibText(-bytes)}` : gibText(bytes);
}

function victimText(victim: Victim): string {
  const gives = Object.entries(victim.givesBytes).map(([device, bytes]) => `${sizeText(bytes)} on ${device}`);
  return `${victim.model}: idle ${durationText(victim.idleMillis)}, gives ${gives.join(', ') || 'nothing'}`;
}

function passedText(passed: PassedOver): string {
  const requests = passed.reason === 'busy' ? ` (${countText(passed.requests, 'request')} in flight)` : '';
  return `${passed.model}: ${passed.reason}${requests}`;
}

function askerText(decision: Decision): string {
  const { asker } = decision;
  switch (asker.kind) {
    case 'request':
      return `request ${asker.request}`;
    case 'operator':
      return 'the operator';
    case 'pin':
      return 'a pin';
    case 'system':
      return 'the supervisor itself';
  }
}

function limitText(modelsMax: number): string {
  return modelsMax === 0 ? ', no limit' : ` of at most ${modelsMax}`;
}

/** The latest decision that was about a model, or that made room for it. */
export function latestDecisionOf(decisions: readonly Decision[], model: ModelId): Decision | null {
  return decisions.findLast((decision) => decision.model === model || decision.forModel === model) ?? null;
}
