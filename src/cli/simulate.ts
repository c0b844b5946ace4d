import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import { sayDuration } from '../scheduler/explain.js';
import { POLICIES } from '../scheduler/policies.js';
import type { PolicyName } from '../scheduler/state.js';
import { GIB } from '../scheduler/units.js';
import { readScenario, ScenarioError, type Scenario } from '../simulation/scenario.js';
import { tallyWorlds, type SimulatedDecision, type Tally } from '../simulation/tally.js';
import { UsageError } from './usage-error.js';

export interface SimulateOptions {
  /** The first seed; 1 when nothing is said. */
  readonly seed?: string;
  /** How many seeds, one after the other. */
  readonly runs?: string;
  /** One policy, or several with commas between them; the scenario's own when nothing is said. */
  readonly policy?: string;
  /** All policies side by side. */
  readonly compare?: boolean;
  readonly json?: boolean;
  /** Every decision, before the table. */
  readonly decisions?: boolean;
}

const POLICY_NAMES = Object.keys(POLICIES) as readonly PolicyName[];
const MOST_RUNS = 10_000;

/**
 * `llm-tui simulate SCENARIO.yaml`: plays a machine that is written down in a file, with the scheduler that also runs
 * the real one, and prints what came of it. Throws UsageError for a file or flag that makes no sense.
 */
export async function simulateCommand(path: string, options: SimulateOptions): Promise<void> {
  const scenario = await scenarioAt(path);
  const policies = policiesOf(options, scenario);
  const first = wholeNumber('--seed', options.seed ?? '1', 0, 2 ** 32 - 1);
  const seeds = Array.from({ length: wholeNumber('--runs', options.runs ?? '1', 1, MOST_RUNS) }, (_, i) => first + i);

  const decisions: (SimulatedDecision & { readonly policy: PolicyName })[] = [];
  const tallies = policies.map((policy) =>
    tallyWorlds(
      seeds.map((seed) => scenario.worldOf(seed, policy)),
      (decision) => {
        if (options.decisions) decisions.push({ ...decision, policy });
      },
    ),
  );
  if (options.json) {
    const whole = {
      schema: 1,
      scenario: path,
      about: scenario.about,
      policies: tallies,
      ...(options.decisions ? { decisions } : {}),
    };
    process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
    return;
  }
  const several = policies.length > 1 || seeds.length > 1;
  const said = decisions.map((decision) => {
    const which = several ? `${decision.policy} ${decision.seed} ` : '';
    return `${which}${sayDuration(decision.afterMillis).padStart(7)} ${decision.kind.padEnd(13)} ${decision.sentence}\n`;
  });
  process.stdout.write(`${said.join('')}${said.length > 0 ? '\n' : ''}${describe(path, scenario, seeds, tallies)}`);
}

async function scenarioAt(path: string): Promise<Scenario> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    throw new UsageError(`scenario ${path}: ${why}`);
  }
  try {
    return readScenario(parse(text));
  } catch (error) {
    if (error instanceof ScenarioError) throw new UsageError(`scenario ${path}: ${error.message}`);
    if (error instanceof YAMLParseError) {
      const [line] = error.linePos ?? [];
      const where = line === undefined ? '' : ` line ${line.line}`;
      throw new UsageError(
        `scenario ${path}${where}: ${(error.message.split('\n')[0] ?? '').replace(/ at line .*$/u, '')}`,
      );
    }
    throw error;
  }
}

function policiesOf({ policy, compare }: SimulateOptions, scenario: Scenario): readonly PolicyName[] {
  if (policy !== undefined && compare) {
    throw new UsageError('--compare shows all policies and --policy those that it names; give one of the two.');
  }
  if (policy === undefined) return compare ? POLICY_NAMES : [scenario.policy];
  return policy.split(',').map((name) => {
    const known = POLICY_NAMES.find((other) => other === name.trim());
    if (known === undefined)
      throw new UsageError(`--policy: '${name}' is none; choose from ${POLICY_NAMES.join(', ')}`);
    return known;
  });
}

function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < least || value > most)
    throw new UsageError(`${flag}: '${text}' is no whole number from ${least} to ${most}`);
  return value;
}

function describe(path: string, { about }: Scenario, seeds: readonly number[], tallies: readonly Tally[]): string {
  const name = basename(path).replace(/\.ya?ml$/u, '');
  const head = ['', ...tallies.map((tally) => tally.policy)];
  const row = (label: string, cell: (tally: Tally) => string | number): string[] => [
    label,
    ...tallies.map((tally) => String(cell(tally))),
  ];
  const rows = [
    head,
    row('requests', (tally) => tally.requests),
    row('served', (tally) => tally.served),
    row('refused', (tally) => tally.refused),
    row('left or cut off', (tally) => tally.unserved),
    row('loads', (tally) => tally.loads),
    row('wakes', (tally) => tally.wakes),
    row('evictions', (tally) => tally.evictions),
    row('out of memory', (tally) => tally.outOfMemory),
    row('wait p50', (tally) => sayDuration(tally.waitMillis.p50)),
    row('wait p95', (tally) => sayDuration(tally.waitMillis.p95)),
    row('wait max', (tally) => sayDuration(tally.waitMillis.max)),
    row('GiB loaded', (tally) => (tally.bytesLoaded / GIB).toFixed(1)),
  ];
  const widths = head.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  const [first, last] = [seeds[0] ?? 0, seeds.at(-1) ?? 0];
  const which = first === last ? `seed ${first}` : `seeds ${first} to ${last}`;
  return `${name} (simulated, ${which})${about === '' ? '' : `: ${about.trim()}`}\n\n${lines.join('\n')}\n`;
}
