import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface LinkTo {
  readonly linkTo: string;
}

/** Files by path; a `LinkTo` is a symbolic link, and a path that ends in `/` an empty directory. */
export type Tree = Readonly<Record<string, Buffer | string | LinkTo>>;

/** Writes a tree into a new temporary directory that is removed when the test ends; gives the directory's path. */
export function tempTree(tree: Tree): string {
  const root = mkdtempSync(join(tmpdir(), 'llm-tui-test-'));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true });
  });
  for (const [name, content] of Object.entries(tree)) {
    const path = join(root, name);
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true });
    if (name.endsWith('/')) continue;
    if (typeof content === 'object' && 'linkTo' in content) symlinkSync(content.linkTo, path);
    else writeFileSync(path, content);
  }
  return root;
}
