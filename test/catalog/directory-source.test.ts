import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CatalogSourceError } from '../../src/catalog/catalog-source-error.js';
import { findModels } from '../../src/catalog/directory-source.js';
import { groupShards } from '../../src/catalog/shards.js';
import { unprivileged } from '../support/unprivileged.js';
import { tempTree, type Tree } from '../support/temp-tree.js';

interface Expected {
  readonly shards: readonly string[];
  readonly projector?: string;
  readonly draft?: string;
  readonly problem?: RegExp;
}

function files(...names: string[]): Tree {
  return Object.fromEntries(names.map((name) => [name, 'x']));
}

async function found(tree: Tree): Promise<{ models: Record<string, unknown>; notices: string[] }> {
  const root = tempTree(tree);
  const { models, notices } = await findModels(root);
  const short = (path: string | null): string | undefined => (path === null ? undefined : relative(root, path));
  return {
    models: Object.fromEntries(
      models.map(({ id, shards, projector, draft, problem }) => [
        id,
        { shards: shards.map(short), projector: short(projector), draft: short(draft), problem: problem ?? undefined },
      ]),
    ),
    notices: notices.map(({ path, message }) => `${relative(root, path)}: ${message}`),
  };
}

describe('what is a model', () => {
  const cases: [title: string, tree: Tree, expected: Record<string, Expected>][] = [
    ['an empty directory has none', {}, {}],
    [
      'a file is named by its stem',
      files('a.gguf', 'b.Q4_K_M.gguf'),
      { a: { shards: ['a.gguf'] }, 'b.Q4_K_M': { shards: ['b.Q4_K_M.gguf'] } },
    ],
    [
      'names may hold blanks and any letters',
      files('my modèl – 模型.gguf'),
      { 'my modèl – 模型': { shards: ['my modèl – 模型.gguf'] } },
    ],
    ['other files are none', files('readme.md', 'a.bin', 'gguf', 'a.ggufx'), {}],
    ['hidden files are none', files('._a.gguf', '.cache/x.gguf'), {}],
    ['a subdirectory is named by the directory', files('m/anything.gguf'), { m: { shards: ['m/anything.gguf'] } }],
    ['a subdirectory without a model is none', files('m/readme.md'), {}],
    ['a subdirectory of a subdirectory is not looked at', files('m/n/a.gguf'), {}],
    [
      'shards are one model, named without the count',
      files('big-00002-of-00002.gguf', 'big-00001-of-00002.gguf'),
      {
        big: { shards: ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'] },
      },
    ],
    [
      'shards beside a model of that name keep their whole name',
      files('big-00001-of-00001.gguf', 'big.gguf'),
      {
        big: { shards: ['big.gguf'] },
        'big-00001-of-00001': { shards: ['big-00001-of-00001.gguf'] },
      },
    ],
    [
      'shards in a subdirectory',
      files('m/x-00001-of-00002.gguf', 'm/x-00002-of-00002.gguf'),
      {
        m: { shards: ['m/x-00001-of-00002.gguf', 'm/x-00002-of-00002.gguf'] },
      },
    ],
    [
      'shards go before a single file',
      files('m/a.gguf', 'm/x-00001-of-00001.gguf'),
      { m: { shards: ['m/x-00001-of-00001.gguf'] } },
    ],
    [
      'the file called like the directory goes first',
      files('m/a.gguf', 'm/m.gguf', 'm/x-00001-of-00001.gguf'),
      {
        m: { shards: ['m/m.gguf'] },
      },
    ],
    ['else name order decides', files('m/b.gguf', 'm/a.gguf'), { m: { shards: ['m/a.gguf'] } }],
    [
      'a projector goes with the model beside it',
      files('m/a.gguf', 'm/mmproj-F16.gguf'),
      {
        m: { shards: ['m/a.gguf'], projector: 'm/mmproj-F16.gguf' },
      },
    ],
    [
      'of two projectors name order decides',
      files('m/a.gguf', 'm/mmproj-F16.gguf', 'm/mmproj-BF16.gguf'),
      {
        m: { shards: ['m/a.gguf'], projector: 'm/mmproj-BF16.gguf' },
      },
    ],
    [
      'a projector may have mmproj inside its name',
      files('m/a.gguf', 'm/a-mmproj-F16.gguf'),
      {
        m: { shards: ['m/a.gguf'], projector: 'm/a-mmproj-F16.gguf' },
      },
    ],
    ['a projector alone is no model', files('m/mmproj.gguf'), {}],
    ['a loose projector belongs to nobody', files('a.gguf', 'mmproj-a.gguf'), { a: { shards: ['a.gguf'] } }],
    [
      'a loose draft belongs to nobody, and MTP in capitals is no draft',
      files('mtp-a.gguf', 'MTP-b.gguf'),
      { 'MTP-b': { shards: ['MTP-b.gguf'] } },
    ],
    ...['mtp-', 'dspark-', 'dflash-', 'eagle3-'].map((prefix): [string, Tree, Record<string, Expected>] => [
      `${prefix} marks a draft`,
      files('m/z.gguf', `m/${prefix}a.gguf`),
      { m: { shards: ['m/z.gguf'], draft: `m/${prefix}a.gguf` } },
    ]),
    [
      'a missing shard makes the model invalid and is named',
      files('x-00001-of-00003.gguf', 'x-00003-of-00003.gguf'),
      {
        x: {
          shards: ['x-00001-of-00003.gguf', 'x-00003-of-00003.gguf'],
          problem: /^x-00002-of-00003\.gguf of 3 shards is missing/,
        },
      },
    ],
    [
      'so does a missing first shard',
      files('x-00002-of-00002.gguf'),
      {
        x: { shards: ['x-00002-of-00002.gguf'], problem: /^x-00001-of-00002\.gguf of 2 shards is missing/ },
      },
    ],
    [
      'many missing shards are counted',
      files('x-00001-of-09999.gguf'),
      {
        x: { shards: ['x-00001-of-09999.gguf'], problem: /and 9995 more of 9999 shards are missing/ },
      },
    ],
    [
      'a count that cannot be is part of a name',
      files('x-00004-of-00003.gguf'),
      { 'x-00004-of-00003': { shards: ['x-00004-of-00003.gguf'] } },
    ],
    ['a directory goes before a file of the same id', files('m/a.gguf', 'm.gguf'), { m: { shards: ['m/a.gguf'] } }],
    [
      'a link is a model under its own name, unresolved',
      { ...files('m/real.gguf'), 'l.gguf': { linkTo: 'm/real.gguf' } },
      {
        l: { shards: ['l.gguf'] },
        m: { shards: ['m/real.gguf'] },
      },
    ],
    [
      'a linked shard finds its siblings beside the link',
      {
        ...files('store/one', 'store/two'),
        'x-00001-of-00002.gguf': { linkTo: 'store/one' },
        'x-00002-of-00002.gguf': { linkTo: 'store/two' },
      },
      { x: { shards: ['x-00001-of-00002.gguf', 'x-00002-of-00002.gguf'] } },
    ],
    [
      'a linked directory is a model',
      { ...files('m/a.gguf'), n: { linkTo: 'm' } },
      { m: { shards: ['m/a.gguf'] }, n: { shards: ['n/a.gguf'] } },
    ],
    [
      'links that lead nowhere or back are none',
      {
        ...files('a.gguf'),
        'dangling.gguf': { linkTo: 'gone' },
        'self.gguf': { linkTo: 'self.gguf' },
        here: { linkTo: '.' },
        up: { linkTo: '..' },
      },
      { a: { shards: ['a.gguf'] } },
    ],
    [
      'unfinished downloads are none',
      files('a.gguf.part', 'b.part', 'c.gguf.downloadInProgress', 'd.gguf.incomplete'),
      {},
    ],
  ];
  test.each(cases)('%s', async (_title, tree, expected) => {
    const { models } = await found(tree);
    const full = Object.entries(expected).map(([id, { shards, projector, draft, problem }]) => [
      id,
      {
        shards,
        projector,
        draft,
        problem: problem === undefined ? undefined : (expect.stringMatching(problem) as string),
      },
    ]);
    expect(models).toEqual(Object.fromEntries(full));
  });
});

describe('what is passed over is a notice', () => {
  test.each<[title: string, tree: Tree, expected: RegExp]>([
    [
      'a dangling link',
      { 'l.gguf': { linkTo: 'gone' } },
      /^l\.gguf: "l\.gguf" is skipped: it is a link to something that does not exist/,
    ],
    ['a circle of links', { 'l.gguf': { linkTo: 'l.gguf' } }, /its links form a circle/],
    ['a link back', { up: { linkTo: '..' } }, /^up: "up" is skipped: it is a link back/],
    ['an unfinished download', files('a.gguf.part'), /^a\.gguf\.part: .*unfinished download/],
    ['an ending in capitals', files('a.GGUF'), /must end in \.gguf/],
    ['a loose projector', files('mmproj-x.gguf'), /^mmproj-x\.gguf: is skipped: a projector belongs/],
    ['a projector without a model', files('m/mmproj-x.gguf'), /^m: is skipped: it holds a projector/],
    [
      'a choice by name order',
      files('m/a.gguf', 'm/b.gguf'),
      /^m: has several files for the model: "a\.gguf" is taken, since it comes first, and not "b\.gguf"/,
    ],
    [
      'a choice by the directory',
      files('m/a.gguf', 'm/m.gguf'),
      /"m\.gguf" is taken, since it is called like the directory, and not "a\.gguf"/,
    ],
    [
      'a choice of projectors',
      files('m/a.gguf', 'm/mmproj-1.gguf', 'm/mmproj-2.gguf'),
      /several files for the projector: "mmproj-1\.gguf"/,
    ],
    ['two models of one id', files('m/a.gguf', 'm.gguf'), /^m\.gguf: is left out: the directory/],
  ])('%s', async (_title, tree, expected) => {
    expect((await found(tree)).notices).toEqual([expect.stringMatching(expected)]);
  });

  test('a tidy directory has none', async () => {
    expect((await found(files('a.gguf', 'm/m.gguf', 'm/mmproj.gguf', 'm/mtp-m.gguf', 'readme.md'))).notices).toEqual(
      [],
    );
  });

  test.runIf(process.platform === 'linux')('a name that is not UTF-8, and a pipe', async () => {
    const root = tempTree({});
    writeFileSync(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff]), Buffer.from('.gguf')]), 'x');
    execFileSync('mkfifo', [join(root, 'pipe.gguf')]);
    const { models, notices } = await findModels(root);
    expect(models).toEqual([]);
    expect(notices.map(({ message }) => message)).toEqual([
      expect.stringMatching(/is skipped: its name is not UTF-8/),
      '"pipe.gguf" is skipped: it is not a regular file',
    ]);
  });

  test('a subdirectory without permission', async () => {
    const root = tempTree(files('m/a.gguf', 'b.gguf'));
    chmodSync(join(root, 'm'), 0);
    const { models, notices } = await unprivileged(root, () => findModels(root));
    chmodSync(join(root, 'm'), 0o755);
    expect(models.map(({ id }) => id)).toEqual(['b']);
    expect(notices.map(({ message }) => message)).toEqual(['is skipped: permission denied']);
  });
});

test('the order in which a directory lists its files does not matter', () => {
  const names = ['b-00002-of-00002.gguf', 'a.gguf', 'b-00001-of-00002.gguf', 'c-00001-of-00001.gguf', 'B.gguf'];
  const rotations = names.map((_, index) => groupShards([...names.slice(index), ...names.slice(0, index)].reverse()));
  for (const grouped of rotations) expect(grouped).toEqual(groupShards(names));
});

test('models come in name order', async () => {
  const root = tempTree(files('c.gguf', 'a/x.gguf', 'b.gguf'));
  expect((await findModels(root)).models.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
});

describe('a directory that cannot be read is one clear sentence', () => {
  test.each([
    ['missing', /missing": it does not exist; give an existing directory as --models-dir$/],
    ['file.txt', /file\.txt": it is not a directory; give/],
  ])('%s', async (name, message) => {
    const root = tempTree(files('file.txt'));
    const failure = await findModels(join(root, name)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CatalogSourceError);
    expect(failure).toMatchObject({ message: expect.stringMatching(message) as string });
  });

  test('one without permission', async () => {
    const root = tempTree({});
    const closed = join(root, 'closed');
    mkdirSync(closed, { mode: 0 });
    await expect(unprivileged(root, () => findModels(closed))).rejects.toThrow(/permission denied/);
  });
});
