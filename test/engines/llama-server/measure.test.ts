import { chmodSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/entry.js';
import { createLlamaServerEngine } from '../../../src/engines/llama-server/engine.js';
import { findLlamaServer } from '../../../src/engines/llama-server/find-binary.js';
import type { MeasuredResult } from '../../../src/engines/messages.js';
import { MIB } from '../../../src/scheduler/units.js';
import { runMeasurement } from '../../support/run-measurement.js';
import { simEntry } from '../../support/sim-world.js';
import { tempTree } from '../../support/temp-tree.js';

const HELP = [
  ...Array.from({ length: 20 }, (_, index) => `--option-${index} N   this`),
  '-m,    --model FNAME                    model path to load',
  '-c,    --ctx-size N                     size of the prompt context',
  '-dev,  --device <dev1,dev2,..>          comma-separated list of devices',
  '-ngl,  --n-gpu-layers N                 max. number of layers',
  '-fit,  --fit [on|off]                   whether to adjust unset arguments',
  '-fitc, --fit-ctx N                      minimum ctx size',
  '-fitp, --fit-print [on|off]             print the estimated required memory',
].join('\n');

/** Prints what the real tool prints: figures for its context, or the arguments that it would fit. */
const SERVER = '#!/bin/sh\necho "--model FNAME"\n';
const TOOL = String.raw`#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --help ]; then cat "$here/help"; exit 0; fi
echo "$*" >> "$here/asked"
context=0; print=no
while [ $# -gt 0 ]; do
  case "$1" in --ctx-size) context=$2 ;; --fit-print) print=yes ;; --model) [ -e "$2" ] || { echo "failed to open GGUF file '$2'" >&2; kill -ABRT $$; } ;; esac
  shift
done
echo "a line of its log"
if [ $print = yes ]; then echo "CUDA0 150 $((context / 128)) 40 "; echo "CUDA1 0 0 0 "; echo "Host 0 0 6 "; else echo "-c 6144 -ngl 99"; fi
`;

interface Installed {
  readonly binary: string;
  readonly directory: string;
  /** The arguments of each run of the tool, without what they have in common. */
  asked(): readonly string[];
}

function install(server = SERVER, tool: string | null = TOOL): Installed {
  const files = {
    'llama-server': server,
    help: HELP,
    'm.gguf': 'x',
    ...(tool === null ? {} : { 'llama-fit-params': tool }),
  };
  const directory = tempTree(files);
  for (const name of ['llama-server', 'llama-fit-params']) if (name in files) chmodSync(join(directory, name), 0o755);
  const asked = (): readonly string[] =>
    readFileSync(join(directory, 'asked'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(`--model ${directory}/m.gguf `, '').replace(' --offline', ''));
  return { binary: join(directory, 'llama-server'), directory, asked };
}

function entry(
  { directory }: Installed,
  change: Partial<CatalogEntry>,
  options: Readonly<Record<string, string>> = {},
): CatalogEntry {
  const header = { ...HEADER, trainedContextTokens: 8192 };
  return { ...simEntry('a', { model: join(directory, 'm.gguf'), jinja: 'on', ...options }), header, ...change };
}

const HEADER = {
  architecture: 'llama',
  parameters: null,
  quantisation: null,
  layers: 31,
  hasChatTemplate: true,
  kvBytesPerToken: null,
  isEmbeddingModel: false,
};

async function measure(installed: Installed, of: CatalogEntry): Promise<MeasuredResult> {
  const environment = { PATH: ['/bin', '/usr/bin'].join(delimiter) };
  const found = await findLlamaServer(installed.binary, environment);
  if (found === null) throw new Error('it was installed');
  const engine = createLlamaServerEngine({ ...found, environment });
  return runMeasurement(engine.measure?.({ entry: of, port: 1, devices: ['CUDA0'] }));
}

const mib = (figure: number): number => (figure + 1) * MIB;

describe.runIf(process.platform !== 'win32')(
  'a llama-server without the role is measured by the tool beside it',
  () => {
    it('at the smallest context, and at the one that is fitted now', async () => {
      const installed = install();
      const found = await measure(installed, entry(installed, {}));
      expect(installed.asked()).toEqual([
        '--device CUDA0 --ctx-size 4096 --fit-print on',
        '--device CUDA0',
        '--device CUDA0 --ctx-size 6144 --fit-print on',
      ]);
      const host = { kind: 'host', name: 'Host', model: 0, context: 0, compute: mib(6) };
      const unused = { kind: 'device', name: 'CUDA1', model: 0, context: 0, compute: 0 };
      const table = (n_ctx: number): object => ({
        n_ctx,
        devices: [
          { kind: 'device', name: 'CUDA0', model: mib(150), context: mib(n_ctx / 128), compute: mib(40) },
          unused,
          host,
        ],
      });
      expect(found).toEqual({ result: 'measured', trainedContextTokens: 8192, min: table(4096), max: table(6144) });
    });

    it('once, when the context is given, or is not fitted', async () => {
      const pinned = install();
      const found = await measure(pinned, entry(pinned, { contextTokens: 2048 }, { 'ctx-size': '2048' }));
      expect(pinned.asked()).toEqual(['--device CUDA0 --ctx-size 2048 --fit-print on']);
      expect(found).toMatchObject({ min: { n_ctx: 2048 }, max: { n_ctx: 2048 } });

      const whole = install();
      await measure(whole, entry(whole, {}, { fit: 'off' }));
      expect(whole.asked()).toEqual(['--fit off --device CUDA0 --ctx-size 8192 --fit-print on']);
    });

    it('from the smallest context that the entry allows', async () => {
      const installed = install();
      await measure(installed, entry(installed, {}, { 'fit-ctx': '1024' }));
      expect(installed.asked()[0]).toBe('--fit-ctx 1024 --device CUDA0 --ctx-size 1024 --fit-print on');
    });

    it('with the projector that the tool does not know on the first device', async () => {
      const installed = install();
      const projector = '/m/mmproj.gguf';
      const stamps = [{ path: projector, sizeBytes: 77, modifiedAt: 1 }];
      const files = { shards: [join(installed.directory, 'm.gguf')], projector, draft: null, sizeBytes: 78, stamps };
      const found = await measure(installed, entry(installed, { files, contextTokens: 2048 }));
      const devices = found.result === 'measured' ? found.min.devices : [];
      expect(devices.at(-1)).toEqual({ kind: 'device', name: 'CUDA0', model: 77, context: 0, compute: 0 });
    });

    it('or it is said why not', async () => {
      const installed = install();
      const gone = { ...entry(installed, {}), options: [{ name: 'model', value: '/nowhere.gguf' }] };
      expect(await measure(installed, gone)).toEqual({
        result: 'failed',
        error: "failed to open GGUF file '/nowhere.gguf'",
      });
      const silent = install(SERVER, TOOL.replace('echo "-c 6144 -ngl 99"', 'exit 3').replace('print=yes', 'print=no'));
      expect(await measure(silent, entry(silent, {}))).toEqual({
        result: 'failed',
        error: 'exited with code 3: a line of its log',
      });
    });
  },
);

describe.runIf(process.platform !== 'win32')('a llama-server measures itself', () => {
  const role = `${SERVER}# LLAMA_SERVER_CHILD_ROLE\n`;

  it('when its program knows the role, which is then preferred', async () => {
    const installed = install(role);
    const found = await findLlamaServer(installed.binary, {});
    expect(found).toMatchObject({ measureRole: true });
    expect(found).not.toHaveProperty('fitTool');
    const engine = createLlamaServerEngine({
      binary: installed.binary,
      reason: 'a test',
      measureRole: true,
      environment: {},
    });
    const made = engine.measure?.({ entry: simEntry('a', { model: '/m.gguf' }), port: 7, devices: ['CUDA1'] });
    expect(made?.command.args.slice(-3)).toEqual(['--device', 'CUDA0', '--offline']);
    expect(made?.command.env).toMatchObject({ LLAMA_SERVER_CHILD_ROLE: 'measure', CUDA_VISIBLE_DEVICES: '1' });
    expect(engine.capabilities().measure).toBe(true);
  });

  it('also when its code is in a library beside it, and not when neither is there', async () => {
    const installed = install(SERVER, null);
    expect(await findLlamaServer(installed.binary, {})).toMatchObject({ measureRole: false });
    const split = tempTree({
      'llama-server': SERVER,
      'libllama-server-impl.so': `\0\0LLAMA_SERVER_CHILD_ROLE\0`,
    });
    chmodSync(join(split, 'llama-server'), 0o755);
    expect(await findLlamaServer(join(split, 'llama-server'), {})).toMatchObject({ measureRole: true });
    const engine = createLlamaServerEngine({ binary: dirname(installed.binary), reason: 'a test', environment: {} });
    expect(engine.capabilities().measure).toBe(false);
  });
});
