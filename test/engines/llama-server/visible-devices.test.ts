import { describe, expect, it } from 'vitest';
import { renameInMessage, renameInResult, renameInVerdict } from '../../../src/engines/device-names.js';
import { createLlamaServerEngine } from '../../../src/engines/llama-server/engine.js';
import { visibleDevices, type VisibleDevices } from '../../../src/engines/llama-server/visible-devices.js';
import { simEntry } from '../../support/sim-world.js';

const KNOWN = ['CUDA0', 'CUDA1', 'CUDA2'];

function shown(
  devices: readonly string[] | null,
  environment: Readonly<Record<string, string>> = {},
  options: Readonly<Record<string, string | boolean>> = {},
  known: readonly string[] | null = KNOWN,
): VisibleDevices | null {
  const said = Object.entries({ model: '/m.gguf', ...options }).map(([name, value]) => ({ name, value }));
  return visibleDevices({ entry: { ...simEntry('a', {}), options: said }, devices }, known, environment);
}

describe('a child that fits itself to its devices', () => {
  it('sees only those that were chosen for it, under names that begin at 0', () => {
    expect(shown(['CUDA1', 'Host'])).toEqual({
      environment: { CUDA_VISIBLE_DEVICES: '1' },
      devices: ['CUDA0'],
      names: { CUDA0: 'CUDA1' },
    });
    expect(shown(['CUDA0', 'CUDA2'])).toEqual({
      environment: { CUDA_VISIBLE_DEVICES: '0,2' },
      devices: ['CUDA0', 'CUDA1'],
      names: { CUDA0: 'CUDA0', CUDA1: 'CUDA2' },
    });
  });

  it('sees none where it is to stay in system memory', () => {
    expect(shown(['Host'])).toMatchObject({ environment: { CUDA_VISIBLE_DEVICES: '-1' }, devices: [] });
    expect(shown(['Host'], {}, {}, ['Vulkan0'])).toBeNull();
  });

  it('is told by the ids that the environment has for the devices, indices or UUIDs', () => {
    const uuids = { CUDA_VISIBLE_DEVICES: 'GPU-aa, GPU-bb' };
    expect(shown(['CUDA1'], uuids)?.environment).toEqual({ CUDA_VISIBLE_DEVICES: 'GPU-bb' });
    expect(shown(['CUDA2'], uuids), 'a device that is not there').toBeNull();
    expect(shown(['ROCm1'], { HIP_VISIBLE_DEVICES: '3,5' }, {}, ['ROCm0', 'ROCm1'])?.environment).toEqual({
      HIP_VISIBLE_DEVICES: '5',
    });
  });

  it('sees all of them where its options speak of devices, where it does not fit itself, and where nothing was chosen', () => {
    for (const option of ['device', 'main-gpu', 'tensor-split', 'override-tensor', 'rpc']) {
      expect(shown(['CUDA1'], {}, { [option]: '1' }), option).toBeNull();
    }
    expect(shown(['CUDA1'], {}, { fit: 'off' })).toBeNull();
    expect(shown(['CUDA1'], {}, { fit: false })).toBeNull();
    expect(shown(null)).toBeNull();
  });

  it('is started so, and what it says is read in our names', () => {
    const engine = createLlamaServerEngine({ binary: '/l', reason: 'a test', environment: {}, devices: KNOWN });
    const {
      args,
      env,
      deviceNames = {},
    } = engine.command({
      ...{ entry: simEntry('a', { model: '/m.gguf' }), port: 1, devices: ['CUDA2'], role: 'instance' },
    });
    expect(args.slice(-2)).toEqual(['--device', 'CUDA0']);
    expect(env).toMatchObject({ CUDA_VISIBLE_DEVICES: '2', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' });

    const reader = engine.reader();
    reader.read('load_tensors:        CUDA0 model buffer size =   150.00 MiB', 'stderr');
    const ready = reader.read('cmd_child_to_router:state:{"state":"ready","payload":{}}', 'stdout');
    if (ready === null) throw new Error('it is ready');
    expect(renameInMessage(ready, deviceNames)).toMatchObject({ effective: { CUDA2: 150 * 2 ** 20 } });
    expect(renameInMessage({ type: 'sleeping' }, deviceNames)).toEqual({ type: 'sleeping' });
  });

  it('is measured and buried under our names too', () => {
    const names = { CUDA0: 'CUDA2' };
    const row = { kind: 'device', name: 'CUDA0', model: 1, context: 2, compute: 3 } as const;
    const table = { n_ctx: 8, devices: [row, { ...row, kind: 'host', name: 'Host' } as const] };
    const result = { result: 'measured', trainedContextTokens: 8, min: table, max: table } as const;
    expect(renameInResult(result, names)).toMatchObject({ min: { devices: [{ name: 'CUDA2' }, { name: 'Host' }] } });
    const failed = { result: 'failed', error: 'out of memory on CUDA0: asked for 5 GiB' } as const;
    expect(renameInResult(failed, names)).toMatchObject({ error: 'out of memory on CUDA2: asked for 5 GiB' });
    const reason = 'out of memory on CUDA0: asked for 32 MiB';
    const verdict = { exitClass: 'out-of-memory', reason, device: 'CUDA0', askedBytes: 1 } as const;
    expect(renameInVerdict(verdict, names)).toEqual({
      ...verdict,
      reason: 'out of memory on CUDA2: asked for 32 MiB',
      device: 'CUDA2',
    });
    expect(renameInVerdict(verdict, {})).toEqual(verdict);
  });
});
