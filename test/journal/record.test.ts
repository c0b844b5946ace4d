import { closeSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { readlinkSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { journalFiles } from '../../src/journal/files.js';
import { hashOfDecisions } from '../../src/journal/format.js';
import { readJournal } from '../../src/journal/read.js';
import { replay } from '../../src/journal/replay.js';
import { RecordedRun } from '../support/recorded-run.js';
import { until } from '../support/until.js';
import { unprivileged } from '../support/unprivileged.js';

function lastLines(path: string, count: number): readonly unknown[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count);
  return lines.map((line) => JSON.parse(line) as unknown);
}

/** The number under which this process has the file open. */
function descriptorOf(path: string): number {
  const descriptors = readdirSync('/proc/self/fd').filter((name) => linkOf(name) === path);
  expect(descriptors).toHaveLength(1);
  return Number(descriptors[0]);
}

function linkOf(descriptor: string): string | null {
  try {
    return readlinkSync(join('/proc/self/fd', descriptor));
  } catch {
    return null;
  }
}

describe('a journal', () => {
  it('has what is acted on before it is acted on', () => {
    const run = new RecordedRun();
    const seen: unknown[] = [];
    run.onEffect = (effect) => {
      if (effect.type === 'spawn') seen.push(...lastLines(run.file, 2));
    };
    run.play({ type: 'request', request: 'r1', model: 'alpha', autoload: true });
    const decided = run.turns.findLast(({ event }) => event.type === 'request')?.decisions ?? [];
    expect(seen).toMatchObject([{ type: 'request', model: 'alpha' }, { decided: hashOfDecisions(decided) }]);
  });

  it('holds back what decided nothing for a moment, and writes it in order with what comes next', async () => {
    const run = new RecordedRun();
    run.play({ type: 'request', request: 'r1', model: 'alpha', autoload: true });
    const written = readFileSync(run.file, 'utf8');
    run.play({ type: 'request-ended', request: 'r1', model: 'alpha' });
    run.play({ type: 'request', request: 'r2', model: 'alpha', autoload: true });
    expect(readFileSync(run.file, 'utf8')).toBe(written);
    run.play({ type: 'operator', action: 'pin', model: 'alpha' });
    expect(lastLines(run.file, 4)).toMatchObject([
      { type: 'request-ended', request: 'r1' },
      { type: 'request', request: 'r2' },
      { type: 'operator' },
      { decided: expect.any(String) as string },
    ]);
    run.play({ type: 'request-ended', request: 'r2', model: 'alpha' });
    await until('it is written', () =>
      readFileSync(run.file, 'utf8').includes('"type":"request-ended","request":"r2"'),
    );
  });

  it('has everything when its process ends by itself, whatever the reason', async () => {
    const directory = join(mkdtempSync(join(tmpdir(), 'journal-')), 'journal');
    const support = pathToFileURL(join(import.meta.dirname, '../support/recorded-run.ts')).href;
    const program = `
      const { RecordedRun } = await import(${JSON.stringify(support)});
      const run = new RecordedRun({ directory: ${JSON.stringify(directory)} });
      run.play({ type: 'request', request: 'r1', model: 'alpha', autoload: true });
      run.play({ type: 'request-ended', request: 'r1', model: 'alpha' });
      throw new Error('on purpose');`;
    const loader = pathToFileURL(join(import.meta.dirname, '../../scripts/typescript.js')).href;
    const args = ['--import', loader, '--input-type=module', '--eval', program];
    const ended = await execa(process.execPath, args, { reject: false });
    expect(ended.stderr).toContain('on purpose');
    const [file = ''] = journalFiles(directory);
    expect(lastLines(file, 1)).toMatchObject([{ type: 'request-ended', request: 'r1' }]);
  });

  it('gives the same decisions and the same last state, byte for byte', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_147_483_646 }), fc.nat({ max: 40 }), (seed, rounds) => {
        const run = new RecordedRun();
        run.churn(rounds, seed);
        run.writer.close(run.state);
        const decisions: unknown[] = [];
        const result = replay(readJournal(run.file), { onTurn: (turn) => decisions.push(...turn.decisions) });
        expect(result).toMatchObject({ divergence: null, sameEnd: true, events: run.turns.length, unfinished: false });
        expect(JSON.stringify(result.state)).toBe(JSON.stringify(run.state));
        expect(decisions).toEqual(run.turns.flatMap((turn) => turn.decisions));
      }),
      { numRuns: 30 },
    );
  });

  it.runIf(process.platform !== 'win32')('is for this user alone, whatever the umask says', () => {
    const before = process.umask(0);
    try {
      const { file, directory } = new RecordedRun();
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(directory).mode & 0o777).toBe(0o700);
    } finally {
      process.umask(before);
    }
  });

  it('records nothing more once it is closed', () => {
    const run = new RecordedRun();
    run.writer.close(run.state);
    const before = readFileSync(run.file, 'utf8');
    run.churn(2);
    expect(run.files).toHaveLength(1);
    expect(readFileSync(run.file, 'utf8')).toBe(before);
  });
});

describe('a journal that grows', () => {
  const CAP_BYTES = 600_000;

  it('goes on in a new file, and each file can be replayed alone', () => {
    const run = new RecordedRun({ capBytes: CAP_BYTES });
    const ends: unknown[] = [];
    run.churn(700);
    run.writer.flush();
    expect(run.files.length).toBeGreaterThan(1);
    for (const [index, file] of run.files.entries()) {
      const journal = readJournal(file);
      if (index > 0) expect(JSON.stringify(journal.state)).toBe(ends.at(-1));
      const result = replay(journal);
      const isLast = index === run.files.length - 1;
      expect(result).toMatchObject({ divergence: null, sameEnd: isLast ? null : true });
      expect(result.verified).toBeGreaterThan(0);
      ends.push(JSON.stringify(result.state));
    }
    expect(ends.at(-1)).toBe(JSON.stringify(run.state));
  });

  it('never takes much more room than it may, whatever came before', () => {
    const directory = join(mkdtempSync(join(tmpdir(), 'journal-')), 'journal');
    for (let start = 0; start < 3; start += 1) {
      const run = new RecordedRun({ capBytes: CAP_BYTES, directory });
      for (let part = 0; part < 20; part += 1) {
        run.churn(100);
        const sizes = run.files.map((file) => statSync(file).size);
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1.2 * CAP_BYTES);
      }
      expect(run.files.every((file) => !file.includes('000001'))).toBe(true);
    }
  });

  it('does not write its state with every event where that alone is larger than a file may be', () => {
    const run = new RecordedRun({ capBytes: 10 });
    run.churn(200);
    const { header } = readJournal(run.file);
    expect(header.part).toBeGreaterThan(1);
    expect(header.part).toBeLessThan(run.turns.length / 20);
  });
});

describe('a journal that cannot be written', () => {
  it.each(['above', 'above/journal'])('is given up with one notice, because %s is a file', (blocked) => {
    const root = mkdtempSync(join(tmpdir(), 'journal-'));
    const directory = join(root, 'above', 'journal');
    mkdirSync(dirname(join(root, blocked)), { recursive: true });
    writeFileSync(join(root, blocked), '');
    const run = new RecordedRun({ directory });
    run.churn(20);
    run.writer.close(run.state);
    expect(run.notices).toEqual([expect.stringContaining(directory)]);
    expect(run.notices[0]).toMatch(/cannot be written \(.*\); nothing is recorded from now on\.$/u);
    expect(run.turns.length).toBeGreaterThan(40);
  });

  it.runIf(process.platform === 'linux')('in the middle is given up, and what it holds can be replayed', () => {
    const run = new RecordedRun();
    run.churn(5);
    const recorded = run.turns.length;
    run.writer.flush();
    closeSync(descriptorOf(run.file));
    run.churn(5);
    run.writer.close(run.state);
    expect(run.notices).toEqual([expect.stringContaining(`${run.file} cannot be written`)]);
    expect(replay(readJournal(run.file))).toMatchObject({ divergence: null, events: recorded });
  });

  it.runIf(process.platform !== 'win32')('is given up where it may not write', async () => {
    const root = mkdtempSync(join(tmpdir(), 'journal-'));
    const directory = join(root, 'closed');
    mkdirSync(directory, { mode: 0o500 });
    const run = await unprivileged(root, () => Promise.resolve(new RecordedRun({ directory })));
    expect(run.notices).toEqual([expect.stringContaining('EACCES')]);
  });
});
