import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempTree } from './temp-tree.js';

export interface FakeNvidiaSmi {
  readonly gpus?: string;
  readonly apps?: string;
  /** Instead of everything else: a shell script; `$here` is its directory. */
  readonly script?: string;
}

/** A program that answers as nvidia-smi did somewhere, and counts how often it was asked. */
export function fakeNvidiaSmi({ gpus = '', apps = '', script }: FakeNvidiaSmi): {
  readonly file: string;
  calls(): readonly string[];
} {
  const directory = tempTree({ gpus: gpus === '' ? '' : `${gpus}\n`, apps: apps === '' ? '' : `${apps}\n`, calls: '' });
  const file = join(directory, 'nvidia-smi');
  const answer = `case "$1" in --query-gpu=*) cat "$here/gpus" ;; --query-compute-apps=*) cat "$here/apps" ;; *) exit 2 ;; esac`;
  writeFileSync(file, `#!/bin/sh\nhere='${directory}'\necho "$*" >> "$here/calls"\n${script ?? answer}\n`);
  chmodSync(file, 0o755);
  return {
    file,
    calls: () =>
      readFileSync(join(directory, 'calls'), 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
  };
}
