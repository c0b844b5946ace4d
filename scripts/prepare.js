// Runs after `npm ci`: makes sure that a supported Node is at hand, then compiles.
//
// On a machine whose own Node is too old, a newer one is fetched from the npm registry as an ordinary
// package and linked into node_modules/.bin, which npm puts first in PATH for every script.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const MINIMUM_MAJOR = 22;
const RUNTIME_VERSION = '22.23.5';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');

/** Runs a command with the terminal's streams; a failure ends the set-up with the same status. */
function run(file, args, options = {}) {
  const result = spawnSync(file, args, { stdio: 'inherit', cwd: root, ...options });
  if (result.error) throw result.error;
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** The path of a Node of at least MINIMUM_MAJOR: this one, or one fetched into node_modules. */
function supportedNode() {
  if (Number(process.versions.node.split('.')[0]) >= MINIMUM_MAJOR) return process.execPath;
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const home = join(modules, '.node-runtime');
  const binary = join(home, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary)) {
    console.log(`Node ${process.versions.node} is too old for llm-tui; fetching ${name}@${RUNTIME_VERSION}.`);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), '{"private":true}\n');
    const npm = process.env.npm_execpath;
    const install = [
      'install',
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `${name}@${RUNTIME_VERSION}`,
    ];
    // The outer npm's prefix and settings of this very run must not leak into the inner one.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => !/^npm_config_(prefix|local_prefix|global)$/i.test(key)),
    );
    if (npm) run(process.execPath, [npm, ...install], { cwd: home, env });
    else run('npm', install, { cwd: home, env });
  }
  const link = join(modules, '.bin', 'node');
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), binary), link);
  return binary;
}

const node = supportedNode();
run(node, [join(modules, 'typescript', 'bin', 'tsc'), '-p', join(root, 'tsconfig.build.json')]);
