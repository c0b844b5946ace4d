import { mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJournal } from '../../src/journal/read.js';
import { replay } from '../../src/journal/replay.js';
import { RecordedRun } from '../support/recorded-run.js';

function recorded(): RecordedRun {
  const run = new RecordedRun();
  run.churn(10);
  return run;
}

/** Changes a line of the file (from 1). */
function changeLine(path: string, number: number, change: (line: string) => string): void {
  const lines = readFileSync(path, 'utf8').split('\n');
  lines[number - 1] = change(lines[number - 1] ?? '');
  writeFileSync(path, lines.join('\n'));
}

function fileOf(content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'journal-')), 'journal-000001.jsonl');
  writeFileSync(path, content);
  return path;
}

describe('a journal that breaks off', () => {
  it('can be replayed up to its last whole line, wherever it was cut', () => {
    const { file, turns } = recorded();
    const whole = readFileSync(file);
    const preamble = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1;
    for (let length = whole.length - 1; length > preamble; length -= 97) {
      truncateSync(file, length);
      const result = replay(readJournal(file));
      expect(result.divergence).toBeNull();
      expect(result.unfinished).toBe(whole[length - 1] !== 0x0a);
      const state = turns[result.events - 1]?.state ?? readJournal(file).state;
      expect(JSON.stringify(result.state)).toBe(JSON.stringify(state));
    }
  });

  it.each(['settings', 'queue', 'devices'])(
    'with damage in the %s of its state cannot be replayed, and says so',
    (part) => {
      const { file } = recorded();
      changeLine(file, 2, (line) => line.replace(`"${part}":`, `"xx${part.slice(2)}":`));
      expect(() => readJournal(file)).toThrow(/:2: the state that the journal starts with is not there/u);
    },
  );

  it('in its first two lines is none', () => {
    const { file } = recorded();
    const [header = '', state = ''] = readFileSync(file, 'utf8').split('\n');
    expect(() => readJournal(fileOf(''))).toThrow(/is not a journal of llm-tui\.$/u);
    expect(() => readJournal(fileOf(header))).toThrow(/is not a journal of llm-tui\.$/u);
    expect(() => readJournal(fileOf(`${header}\n`))).toThrow(
      /:2: the state that the journal starts with is not there/u,
    );
    expect(() => readJournal(fileOf(`${header}\n${state}`))).toThrow(/:2: the state/u);
  });
});

describe('a journal with a damaged line in the middle', () => {
  it.each([
    ['half of it is missing', (line: string) => line.slice(0, line.length / 2), 'it is no JSON object'],
    ['it is empty', () => '', 'it is no JSON object'],
    ['it is another value', () => '[1]', 'it is no JSON object'],
    ['it is no event', () => '{"at":1,"type":"coffee"}', 'it is no event'],
    ['it refers to a sample that is not there', () => '{"sample":[1,1],"devices":[0,0,0]}', 'does not follow from'],
  ])('says file and line, and gives what comes before: %s', (_, change, words) => {
    const { file, turns } = recorded();
    changeLine(file, 12, change);
    const seen: unknown[] = [];
    const attempt = (): unknown => replay(readJournal(file), { onTurn: ({ event }) => seen.push(event) });
    expect(attempt).toThrow(`${file}:12: the line is damaged (`);
    expect(attempt).toThrow(words);
    expect(seen.slice(0, 4)).toEqual(turns.slice(0, 4).map(({ event }) => event));
  });

  it('says which event the scheduler could not take', () => {
    const { file } = recorded();
    changeLine(file, 12, () => '{"at":1,"type":"catalog"}');
    expect(() => replay(readJournal(file))).toThrow(
      /:12: the event \(catalog\) cannot be replayed by this version \(.*\); llm-tui 1\.2\.3 recorded it\.$/u,
    );
  });
});

describe('a file that is no journal of this version', () => {
  it('is told by one sentence', () => {
    const { file } = recorded();
    changeLine(file, 1, (line) => line.replace('"journal":1', '"journal":2'));
    expect(() => readJournal(file)).toThrow(
      `${file} is a journal of form 2, written by llm-tui 1.2.3; this version reads form 1.`,
    );
    expect(() => readJournal(fileOf('{"at":1}\n'))).toThrow(/is not a journal of llm-tui\.$/u);
    expect(() => readJournal('/no/such/journal')).toThrow(/The journal \/no\/such\/journal cannot be read \(ENOENT/u);
    expect(() => readJournal(tmpdir())).toThrow(/cannot be read \(EISDIR/u);
  });
});
