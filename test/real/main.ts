/**
 * The real llama-server on emulated GPUs, under load and under fire:
 * `npm run test:real -- [--seconds 180] [--seed 1] [--part NAME]`. Exit code 1 when anything was wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeModels } from './models.js';
import type { Part, PartResult } from './part.js';
import { PARTS } from './parts/parts.js';
import { findRig, NoRig } from './rig.js';
import { tableOf } from './table.js';

const SHORTEST_PART_MILLIS = 2500;

async function main(): Promise<void> {
  const { seconds, seed, parts } = readArguments();
  const rig = findRig();
  const directory = mkdtempSync(join(tmpdir(), 'real-'));
  console.log(`seed ${seed}, ${seconds} s of load; two GPUs of 600 MiB, emulated, and ${rig.llamaServer}`);
  const results: PartResult[] = [];
  try {
    const models = await writeModels(rig, directory);
    const weights = parts.reduce((sum, part) => sum + part.weight, 0);
    for (const part of parts) {
      const millis = Math.max(SHORTEST_PART_MILLIS, weights === 0 ? 0 : (seconds * 1000 * part.weight) / weights);
      console.log(`\n${part.name}: ${part.story}`);
      const result = await runPart(part, { rig, models, seed, millis });
      results.push(result);
      for (const remark of result.remarks) console.log(`  ${remark}`);
      for (const fault of result.faults) console.log(`  WRONG  ${fault}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  console.log(`\n${tableOf(results.flatMap(({ rows }) => rows))}`);
  const wrong = results.reduce((sum, { faults }) => sum + faults.length, 0);
  console.log(wrong === 0 ? '\neverything held' : `\n${wrong} things were wrong; again: --seed ${seed}`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

/** A part that fails altogether is one fault, and no reason not to see the others. */
async function runPart(part: Part, context: Parameters<Part['run']>[0]): Promise<PartResult> {
  try {
    return await part.run(context);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { rows: [], faults: [`${part.name} could not be finished: ${why}`], remarks: [] };
  }
}

function readArguments(): { readonly seconds: number; readonly seed: number; readonly parts: readonly Part[] } {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '180' },
      seed: { type: 'string', default: '1' },
      part: { type: 'string' },
    },
  });
  const parts = PARTS.filter(({ name }) => values.part === undefined || name === values.part);
  if (parts.length === 0) fail(`--part: one of ${PARTS.map(({ name }) => name).join(', ')}`);
  return { seconds: wholeNumber('--seconds', values.seconds), seed: wholeNumber('--seed', values.seed), parts };
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(number)) fail(`${flag}: '${text}' is no whole number`);
  return number;
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

// Whoever interrupts it finds nothing left: see Machine.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

try {
  await main();
} catch (error) {
  if (!(error instanceof NoRig)) throw error;
  fail(error.message);
}
