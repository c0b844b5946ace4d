import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** Which rooms each room may import from, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/scheduler': [],
  'src/simulation': ['src/scheduler'],
  'src/client': ['src/scheduler', 'src/journal'],
  'src/devices': ['src/scheduler', 'native'],
  'src/catalog': ['src/scheduler'],
  'src/journal': ['src/scheduler'],
  'src/engines': ['src/scheduler', 'src/catalog', 'src/devices', 'native'],
  'src/measurements': ['src/scheduler', 'src/engines'],
  'src/supervisor': [
    'src/scheduler',
    'src/measurements',
    'src/client',
    'src/engines',
    'src/devices',
    'src/catalog',
    'src/journal',
  ],
  'src/router': ['src/supervisor', 'src/catalog', 'src/client', 'src/scheduler'],
  'src/store': ['src/client'],
  components: ['src/store', 'src/client'],
  native: [],
  'src/cli': [
    ...['scheduler', 'client', 'devices', 'catalog', 'engines', 'supervisor', 'router', 'journal', 'measurements'].map(
      (room) => `src/${room}`,
    ),
    'src/simulation',
    'components',
    'native',
  ],
};

/** The only packages that a room may use, where that is limited. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'src/scheduler': [],
  components: ['ink', 'react', 'zustand', 'string-width', 'fastest-levenshtein'],
};

interface Import {
  readonly file: string;
  readonly from: string;
}

function roomOf(path: string): string {
  const parts = path.split('/');
  return parts[0] === 'src' ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

function sourceFiles(room: string): readonly string[] {
  return globSync(join(root, room, '**/*.{ts,tsx}')).map((file) => relative(root, file));
}

function importsOf(file: string): readonly Import[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), 'utf8'), true, true);
  return importedFiles.map(({ fileName }) => ({ file, from: fileName }));
}

describe('the arrows between rooms', () => {
  it.each(Object.keys(MAY_IMPORT))('%s imports only from rooms below it', (room) => {
    const allowed = [room, ...(MAY_IMPORT[room] ?? [])];
    const wrong = sourceFiles(room)
      .flatMap(importsOf)
      .filter(({ from }) => from.startsWith('.'))
      .filter(({ file, from }) => !allowed.includes(roomOf(join(dirname(file), from))));
    expect(wrong).toEqual([]);
  });

  it.each(Object.keys(PACKAGES))('%s uses only the packages that it may', (room) => {
    const wrong = sourceFiles(room)
      .flatMap(importsOf)
      .filter(({ from }) => !from.startsWith('.'))
      .filter(({ from }) => !(PACKAGES[room] ?? []).some((name) => from === name || from.startsWith(`${name}/`)));
    expect(wrong).toEqual([]);
  });

  it('knows every room', () => {
    const rooms = new Set([...globSync(join(root, 'src/*/*.ts')), ...globSync(join(root, 'src/*/*/*.ts'))]);
    const unknown = [...rooms].map((file) => roomOf(relative(root, file))).filter((room) => !(room in MAY_IMPORT));
    expect([...new Set(unknown)]).toEqual([]);
  });
});

describe('the scheduler', () => {
  const FORBIDDEN = [
    ...['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'process', 'globalThis'],
    ...['Promise', 'fetch', 'crypto', 'console', 'Buffer', 'require'],
  ];

  it('names no clock, timer, random source, process or promise, and never waits', () => {
    const found: string[] = [];
    for (const file of sourceFiles('src/scheduler')) {
      const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
      const visit = (node: ts.Node): void => {
        const text = ts.isIdentifier(node) ? node.text : '';
        if (FORBIDDEN.includes(text)) found.push(`${file}: ${text}`);
        if (ts.isPropertyAccessExpression(node) && node.getText(source) === 'Math.random')
          found.push(`${file}: Math.random`);
        if (ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AsyncKeyword) found.push(`${file}: async`);
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
    expect(found).toEqual([]);
  });
});
