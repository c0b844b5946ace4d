import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SourceWatch } from '../../src/catalog/source-watch.js';
import { tempTree } from '../support/temp-tree.js';
import { until } from '../support/until.js';

/** Watches, and reads whenever it is told of a change; the returned function waits until this has been read. */
function watching(sources: { modelsDir?: string; modelsPreset?: string }): (expected: string | null) => Promise<void> {
  const { modelsDir = null, modelsPreset = null } = sources;
  const read = (): string | null => {
    try {
      return modelsDir === null ? readFileSync(modelsPreset ?? '', 'utf8') : readdirSync(modelsDir).join();
    } catch {
      return null;
    }
  };
  let seen: string | null = 'nothing yet';
  const watch = new SourceWatch({ modelsDir, modelsPreset }, () => (seen = read()));
  onTestFinished(() => watch.close());
  expect(watch.start()).toEqual([]);
  return (expected) =>
    until(`told of ${expected ?? 'its absence'}`, () => Promise.resolve(seen === expected || null)).then(
      () => undefined,
    );
}

function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

function relink(path: string, target: string): void {
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

describe.skipIf(process.platform === 'win32')('a preset file that is watched', () => {
  it('is read again when it is written, and when it is replaced', async () => {
    const path = join(tempTree({ 'models.ini': '' }), 'models.ini');
    const told = watching({ modelsPreset: path });
    writeFileSync(path, 'written');
    await told('written');
    replace(path, 'replaced');
    await told('replaced');
    writeFileSync(path, 'written again');
    await told('written again');
  });

  it('may be a link: what happens to the file that it leads to counts, and to the link', async () => {
    const root = tempTree({ 'a/one.ini': '', 'b/two.ini': 'two', 'links/other.ini': '' });
    const [one, two, link] = [join(root, 'a/one.ini'), join(root, 'b/two.ini'), join(root, 'links/models.ini')];
    symlinkSync(one, link);
    const told = watching({ modelsPreset: link });
    writeFileSync(one, 'written');
    await told('written');
    replace(one, 'replaced');
    await told('replaced');
    relink(link, two);
    await told('two');
    writeFileSync(two, 'two, written');
    await told('two, written');
    relink(link, '../b/none.ini');
    await told(null);
    writeFileSync(join(root, 'b/none.ini'), 'there now');
    await told('there now');
  });

  it('may be behind a link to a directory, which is replaced as a whole', async () => {
    // As Kubernetes lays out a ConfigMap: models.ini -> ..data/models.ini, ..data -> ..1/
    const root = tempTree({ '..1/models.ini': 'one', '..2/models.ini': 'two' });
    symlinkSync('..1', join(root, '..data'));
    symlinkSync('..data/models.ini', join(root, 'models.ini'));
    const told = watching({ modelsPreset: join(root, 'models.ini') });
    relink(join(root, '..data'), '..2');
    await told('two');
    writeFileSync(join(root, '..2/models.ini'), 'three');
    await told('three');
  });

  it('may be a link to itself', () => {
    const root = tempTree({ 'm.gguf': '' });
    symlinkSync('circle.ini', join(root, 'circle.ini'));
    watching({ modelsPreset: join(root, 'circle.ini') });
  });
});

describe.skipIf(process.platform === 'win32')('a models directory that is watched', () => {
  it('may be a link that comes to lead elsewhere', async () => {
    const root = tempTree({ 'a/m.gguf': '', 'b/n.gguf': '' });
    const link = join(root, 'models');
    symlinkSync('a', link);
    const told = watching({ modelsDir: link });
    writeFileSync(join(root, 'a/new.gguf'), '');
    await told('m.gguf,new.gguf');
    relink(link, 'b');
    await told('n.gguf');
    writeFileSync(join(root, 'b/new.gguf'), '');
    await told('n.gguf,new.gguf');
  });

  it('may go and come again', async () => {
    const root = tempTree({ 'models/m.gguf': '' });
    const directory = join(root, 'models');
    const told = watching({ modelsDir: directory });
    rmSync(directory, { recursive: true });
    await told(null);
    mkdirSync(directory);
    await told('');
    writeFileSync(join(directory, 'm.gguf'), '');
    await told('m.gguf');
  });
});
