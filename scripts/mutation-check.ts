/**
 * Removes each guard of the scheduler in turn from a copy of it, and runs the scheduler's tests against the copy: every
 * guard has to be missed by at least one named test. `npm run mutation-check [-- part-of-a-name]`. Exit code 1 when a
 * guard can be removed unnoticed, 2 when a patch no longer applies.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MUTATIONS, type Mutation } from './mutations.js';

const root = resolve(import.meta.dirname, '..');

/** A few random worlds are enough beside the named tests. */
const WORLD_RUNS = '10';

interface TestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

function main(): void {
  const wanted = process.argv[2] ?? '';
  const copy = mkdtempSync(join(tmpdir(), 'mutation-check-'));
  try {
    for (const path of [
      'src/scheduler',
      'src/simulation',
      'test/scheduler',
      'test/support',
      'vitest.config.ts',
      'tsconfig.json',
      'package.json',
    ])
      cpSync(join(root, path), join(copy, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

    const before = failures(copy);
    if (before.length > 0) stop(`the tests fail without any change: ${before.join('; ')}`);
    const survivors = MUTATIONS.filter(({ guard }) => guard.includes(wanted)).filter(
      (mutation) => !isNoticed(copy, mutation),
    );
    if (survivors.length > 0) {
      console.log(`\nremoved unnoticed: ${survivors.map(({ guard }) => guard).join('; ')}`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function isNoticed(copy: string, { guard, file, also, ...first }: Mutation): boolean {
  const path = join(copy, 'src/scheduler', file);
  const original = readFileSync(path, 'utf8');
  let mutated = original;
  for (const { find, replace } of also === undefined ? [first] : [first, also]) {
    if (mutated.split(find).length !== 2) stop(`${guard}: its patch does not apply to ${file} exactly once`);
    mutated = mutated.replace(find, () => replace);
  }
  writeFileSync(path, mutated);
  const failed = failures(copy);
  writeFileSync(path, original);
  console.log(`${failed.length > 0 ? 'noticed ' : 'SURVIVED'}  ${guard}`);
  for (const name of failed) console.log(`            ${name}`);
  return failed.length > 0;
}

/** Names of the tests that fail in the copy. */
function failures(copy: string): readonly string[] {
  const output = join(copy, 'report.json');
  rmSync(output, { force: true });
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const run = spawnSync(
    process.execPath,
    [vitest, 'run', 'test/scheduler', '--reporter=json', `--outputFile=${output}`],
    {
      cwd: copy,
      env: { ...process.env, WORLD_RUNS },
      encoding: 'utf8',
      timeout: 90_000,
    },
  );
  if (run.error) return [`they do not end: ${run.error.message}`];
  const report = JSON.parse(readFileSync(output, 'utf8')) as TestReport;
  return report.testResults.flatMap(({ assertionResults, message }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed').map(({ title }) => title);
    return failed.length === 0 && message !== '' ? [message] : failed;
  });
}

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

main();
