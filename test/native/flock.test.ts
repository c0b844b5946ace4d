import { execa } from 'execa';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tryExclusiveFile } from '../../native/exclusive-file.js';
import { lockHolder, tryLock } from '../../native/flock.js';

const temporary = (): string => join(mkdtempSync(join(tmpdir(), 'lock-')), 'serve.lock');

describe.each([
  ['flock', tryLock],
  ['an exclusive file', tryExclusiveFile],
])('%s', (_name, lock) => {
  it('has one holder at a time, and is free again after release', () => {
    const path = temporary();
    const first = lock(path);
    expect(first).not.toBeNull();
    expect(lock(path)).toBeNull();
    first?.release();
    first?.release();
    using second = lock(path);
    expect(second).not.toBeNull();
    expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
  });

  it('says what is wrong with the path', () => {
    expect(() => lock('/nowhere/at/all/serve.lock')).toThrow('ENOENT');
  });
});

it('a lock comes back when its holder is killed', async () => {
  const path = temporary();
  const module = new URL('../../dist/native/flock.js', import.meta.url).href;
  const holder = execa(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { tryLock } from ${JSON.stringify(module)};
       console.log(tryLock(${JSON.stringify(path)}) === null ? 'taken' : 'held'); setInterval(() => {}, 1000);`,
    ],
    { reject: false },
  );
  for await (const line of holder) {
    expect(line).toBe('held');
    expect(tryLock(path)).toBeNull();
    holder.kill('SIGKILL');
  }
  using lock = tryLock(path);
  expect(lock).not.toBeNull();
});

it.skipIf(process.platform === 'win32')(
  'a lock names its holder while there is one, and none is made by asking',
  () => {
    const path = temporary();
    expect(lockHolder(path)).toBeNull();
    expect(existsSync(path)).toBe(false);
    const lock = tryLock(path);
    expect(lockHolder(path)).toBe(process.pid);
    lock?.release();
    expect(readFileSync(path, 'utf8'), 'what the last holder has left').toBe(`${process.pid}\n`);
    expect(lockHolder(path)).toBeNull();
    using next = tryLock(path);
    expect(next, 'asking holds nothing').not.toBeNull();
  },
);

it('an exclusive file of a process that has gone is taken over', async () => {
  const path = temporary();
  const { pid } = await execa(process.execPath, ['-e', 'console.log(process.pid)']).then(({ stdout }) => ({
    pid: stdout,
  }));
  writeFileSync(path, pid);
  using lock = tryExclusiveFile(path);
  expect(lock).not.toBeNull();
});
