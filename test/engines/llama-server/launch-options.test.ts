import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/entry.js';
import { createLlamaServerEngine, type LlamaServerEngineOptions } from '../../../src/engines/llama-server/engine.js';
import { simEntry } from '../../support/sim-world.js';

const GPUS = ['CUDA0', 'CUDA1'];

function argsOf(
  options: Readonly<Record<string, string | boolean>>,
  devices: readonly string[] | null,
  change: Partial<LlamaServerEngineOptions> = {},
  files: Partial<NonNullable<CatalogEntry['files']>> = {},
): readonly string[] {
  const given = { binary: '/opt/llama-server', reason: 'a test', environment: {}, bufferVerbosity: 4, devices: GPUS };
  const engine = createLlamaServerEngine({ ...given, ...change });
  const said = Object.entries({ model: '/m/a.gguf', ...options }).map(([name, value]) => ({ name, value }));
  const none = { shards: ['/m/a.gguf'], projector: null, draft: null, sizeBytes: 1 };
  const entry: CatalogEntry = { ...simEntry('a', {}), options: said, files: { ...none, ...files } };
  const { args } = engine.command({ entry, port: 5001, devices, role: 'instance' });
  return args.slice(args.indexOf('--alias') + 2);
}

describe('a model that was placed', () => {
  it('takes its draft and its projector with it', () => {
    const files = { draft: '/m/d.gguf', projector: '/m/p.gguf' };
    const at = (...names: readonly string[]): readonly string[] => argsOf({ fit: 'off' }, names, {}, files);
    const draft = '--device-draft';
    expect(at('CUDA1', 'Host')).toEqual(['--device', 'CUDA1', draft, 'CUDA1', '--mmproj-device', 'CUDA1']);
    expect(at('CUDA0', 'CUDA1')).toEqual([
      ...['--device', 'CUDA0,CUDA1', draft, 'CUDA0,CUDA1'],
      ...['--mmproj-device', 'CUDA0'],
    ]);
    expect(at('Host')).toEqual(['--device', 'none', draft, 'none', '--mmproj-device', 'none']);
  });

  it('says nothing that the binary does not understand, or the entry says itself', () => {
    const files = { draft: '/m/d.gguf', projector: '/m/p.gguf' };
    const old = { options: [{ name: 'device', aliases: [], takesValue: true, negatable: false, env: null }] };
    expect(argsOf({ fit: 'off' }, ['CUDA1'], old, files)).toEqual(['--device', 'CUDA1']);
    const own = { fit: 'off', 'device-draft': 'CUDA0', 'mmproj-offload': false };
    expect(argsOf(own, ['CUDA1'], {}, files)).toEqual(['--device', 'CUDA1']);
    expect(argsOf({ device: 'CUDA0' }, ['CUDA1'], {}, files)).toEqual([]);
  });
});

describe('a child is asked to log its buffers', () => {
  const asked = ['--log-verbosity', '4'];

  it('where no probe sees what it holds', () => {
    expect(argsOf({}, null, { devices: ['Vulkan0'] })).toEqual(asked);
    expect(argsOf({}, null, { devices: ['ROCm0', 'ROCm1'] })).toEqual(asked);
    expect(argsOf({ rpc: '10.0.0.2:50052' }, null)).toEqual(asked);
    expect(argsOf({ rpc: '10.0.0.2:50052' }, null, { devices: [] })).toEqual(asked);
  });

  it('not where probes see it', () => {
    expect(argsOf({}, null)).toEqual([]);
    expect(argsOf({}, null, { devices: [] })).toEqual([]);
    expect(argsOf({}, ['CUDA0'])).toEqual(['--device', 'CUDA0']);
  });

  it('not where listing the devices would take a context on one that it leaves alone', () => {
    expect(argsOf({}, ['ROCm0'], { devices: ['ROCm0', 'ROCm1'] })).toEqual(['--device', 'ROCm0']);
    expect(argsOf({ rpc: 'x:1', device: 'RPC0,CUDA0' }, null)).toEqual([]);
    expect(argsOf({ rpc: 'x:1', device: 'RPC0,CUDA0,CUDA1' }, null)).toEqual(asked);
  });

  it('not where its user has said how much to log', () => {
    const vulkan = { devices: ['Vulkan0'] };
    expect(argsOf({ 'log-verbosity': '1' }, null, vulkan)).toEqual([]);
    expect(argsOf({ 'log-disable': true }, null, vulkan)).toEqual([]);
    expect(argsOf({ 'log-verbose': true }, null, vulkan)).toEqual([]);
    expect(argsOf({}, null, { ...vulkan, environment: { LLAMA_ARG_LOG_VERBOSITY: '2' } })).toEqual([]);
  });

  it('not where it tells in its messages, or logs them anyway', () => {
    expect(argsOf({}, null, { devices: ['Vulkan0'], measureRole: true })).toEqual([]);
    const binary = { binary: '/opt/llama-server', reason: 'a test', environment: {}, devices: ['Vulkan0'] };
    const { args } = createLlamaServerEngine(binary).command({
      entry: simEntry('a', {}),
      port: 1,
      devices: null,
      role: 'instance',
    });
    expect(args).not.toContain('--log-verbosity');
  });
});
