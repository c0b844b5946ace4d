import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { countText } from '../../components/text/format.js';
import { JournalError } from '../journal/format.js';
import { journalFiles } from '../journal/files.js';
import { readJournal, type Journal } from '../journal/read.js';
import { replay, type Divergence, type ReplayResult } from '../journal/replay.js';
import { schedulerBuild } from '../journal/scheduler-build.js';
import { openRecording } from '../client/replay-client.js';
import type { Decision } from '../scheduler/decisions.js';
import type { PolicyName } from '../scheduler/state.js';
import { dayOf, plainLine, timeOf } from './plain-lines.js';
import { endAfter, showScreen } from './screen-command.js';
import type { ScreenFlags } from './screen-flags.js';
import { CommandFailed, UsageError } from './usage-error.js';

export interface ReplayFlags {
  /** A journal file, or a directory with journals, or a state directory. */
  readonly path: string;
  /** Null: the recorded one. */
  readonly policy: PolicyName | null;
  readonly json: boolean;
}

/** A replay with everything that it decided. */
interface Played {
  readonly result: ReplayResult;
  readonly decisions: readonly Decision[];
  readonly seconds: number;
}

/** Another policy beside the recorded one. */
interface Comparison {
  readonly other: Played;
  /** The first decision that is not the same, on either side; null: there is none. */
  readonly difference: { readonly recorded: Decision | null; readonly other: Decision | null } | null;
}

/**
 * `llm-tui replay`: plays a recorded journal through the scheduler again, prints what it decides, and says whether that
 * is what was recorded. Throws CommandFailed where it is not, or the journal cannot be read.
 */
export function replayCommand({ path, policy, json }: ReplayFlags): void {
  // `| head` may have had enough.
  process.stdout.on('error', () => process.exit(0));
  try {
    const file = newestIn(path);
    const journal = readJournal(file);
    const isOther = policy !== null && policy !== journal.state.settings.policy;
    const recorded = play(journal, null, json || isOther);
    const comparison = isOther ? compare(recorded, play(readJournal(file), policy, json)) : null;
    process.stdout.write(json ? asJson(journal, recorded, comparison) : asText(journal, recorded, comparison));
    const { divergence } = recorded.result;
    if (divergence !== null) throw new CommandFailed(sayDivergence(journal, divergence));
  } catch (error) {
    if (error instanceof JournalError) throw new CommandFailed(error.message, { cause: error });
    throw error;
  }
}

/** `llm-tui replay --screen`: a recorded journal in the screen, as if it happened now. Throws CommandFailed likewise. */
export async function replayScreen(path: string, flags: ScreenFlags): Promise<void> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) {
    throw new CommandFailed('replay --screen needs a terminal; without --screen the decisions are printed.');
  }
  try {
    const file = newestIn(path);
    endAfter(await showScreen(openRecording(file), false, { ...flags, hostLabel: basename(file) }));
  } catch (error) {
    if (error instanceof JournalError) throw new CommandFailed(error.message, { cause: error });
    throw error;
  }
}

/** The file itself, or the newest journal of the directory. */
function newestIn(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return path;
  const newest = [...journalFiles(join(path, 'journal')), ...journalFiles(path)].at(-1);
  if (newest === undefined) throw new UsageError(`There is no journal in ${path}; llm-tui serve records one.`);
  return newest;
}

/** Prints the decisions unless it shall be silent: also those before a damaged line, which are worth having. */
function play(journal: Journal, policy: PolicyName | null, silent: boolean): Played {
  const decisions: Decision[] = [];
  const started = performance.now();
  try {
    const onTurn = (turn: { readonly decisions: readonly Decision[] }): void => void decisions.push(...turn.decisions);
    const result = replay(journal, policy === null ? { onTurn } : { onTurn, policy });
    return { result, decisions, seconds: (performance.now() - started) / 1000 };
  } finally {
    if (!silent) process.stdout.write(listOf(decisions));
  }
}

/** One decision a line, and a line for each new day. */
function listOf(decisions: readonly Decision[]): string {
  let day = '';
  const lines = decisions.flatMap((decision) => {
    const before = day;
    day = dayOf(decision.at);
    return day === before ? [plainLine(decision)] : [day, plainLine(decision)];
  });
  return lines.map((line) => `${line}\n`).join('');
}

function compare(recorded: Played, other: Played): Comparison {
  const length = Math.max(recorded.decisions.length, other.decisions.length);
  for (let index = 0; index < length; index += 1) {
    const [left = null, right = null] = [recorded.decisions[index], other.decisions[index]];
    if (whatOf(left) !== whatOf(right)) return { other, difference: { recorded: left, other: right } };
  }
  return { other, difference: null };
}

/** What was decided, without the words for it: policies give other reasons for the same choice. */
function whatOf(decision: Decision | null): string {
  if (decision === null) return '';
  const { at, kind, model, forModel, plan } = decision;
  return JSON.stringify([at, kind, model, forModel, plan.map((victim) => victim.model)]);
}

function asText({ path, header }: Journal, recorded: Played, comparison: Comparison | null): string {
  const { result } = recorded;
  const { events } = result;
  const { seconds } = comparison?.other ?? recorded;
  const since = `${dayOf(header.startedAt)} ${timeOf(header.startedAt)}`;
  const lines = [
    '',
    `${basename(path)}: part ${header.part} of a run of llm-tui ${header.version} since ${since}`,
    `${countText(events, 'event')} replayed in ${seconds.toFixed(2)} s, ${Math.round(events / Math.max(seconds, 0.001))} events/s`,
    ...(result.unfinished ? ['The journal breaks off in the middle of its last line.'] : []),
    `${comparison === null ? 'decided' : 'recorded'} (${result.recordedPolicy}): ${sayCounts(result)}`,
    ...(result.divergence === null ? [sayVerified(result)] : []),
    ...(comparison === null ? [] : sayComparison(comparison)),
  ];
  return `${lines.join('\n')}\n`;
}

function sayCounts({ decisions }: ReplayResult): string {
  const counts = Object.entries(decisions)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} ${kind}`);
  return counts.length === 0 ? 'nothing' : counts.join(', ');
}

function sayVerified({ verified, sameEnd }: ReplayResult): string {
  const end = sameEnd === true ? ', and so is the last state' : '';
  return `As recorded: the decisions of ${verified === 1 ? 'the one turn' : `all ${verified} turns`} that made any are the same${end}.`;
}

function wereOf(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** What really came in stays as it was, so that a different course of things is told wrongly from some point on. */
function sayComparison({ other, difference }: Comparison): readonly string[] {
  const { policy, strayEvents, unanswered } = other.result;
  const counts = `instead (${policy}): ${sayCounts(other.result)}`;
  if (difference === null) return [counts, `${policy} would have decided the same throughout.`];
  return [
    counts,
    'The first decision that differs:',
    `  recorded  ${difference.recorded === null ? 'none' : plainLine(difference.recorded)}`,
    `  instead   ${difference.other === null ? 'none' : plainLine(difference.other)}`,
    'After it this is no forecast: requests, exits and samples still come as they really came, so that',
    `${countText(strayEvents, 'event')} of processes that ${policy} had not started ${wereOf(strayEvents)} passed over (their memory counts as external),`,
    `and ${unanswered} ${unanswered === 1 ? 'process' : 'processes'} that it had started or stopped ${wereOf(unanswered)} still waiting for an answer at the end.`,
  ];
}

function sayDivergence({ path, header }: Journal, { line, event, what }: Divergence): string {
  const where = event === null ? '' : ` at '${event.type}' (${dayOf(event.at)} ${timeOf(event.at)})`;
  const build = schedulerBuild();
  const builds =
    build === header.scheduler
      ? 'the same build of the scheduler recorded it'
      : `another build of the scheduler recorded it (${header.scheduler}; this is ${build})`;
  return `${path}:${line}: the replay differs from here on${where}: ${what}; ${builds}.`;
}

function asJson({ path, header }: Journal, recorded: Played, comparison: Comparison | null): string {
  const summary = ({ result: { state: _, ...rest }, decisions, seconds }: Played): object => {
    const { decisions: counts, ...more } = rest;
    return { ...more, seconds, counts, decisions };
  };
  const other = comparison && summary(comparison.other);
  const whole = {
    schema: 1,
    path,
    header,
    recorded: summary(recorded),
    other,
    difference: comparison?.difference ?? null,
  };
  return `${JSON.stringify(whole, null, 2)}\n`;
}
