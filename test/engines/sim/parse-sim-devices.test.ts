import { describe, expect, it } from 'vitest';
import { formatSimDevices, parseSimDevices } from '../../../src/engines/sim/parse-sim-devices.js';
import { GIB, MIB } from '../../../src/scheduler/units.js';

describe('simulated devices on the command line', () => {
  it('are names and sizes, in order', () => {
    expect(parseSimDevices('CUDA0=24GiB, Vulkan1 = 1.5 GiB,RPC0=512mib')).toEqual([
      { name: 'CUDA0', totalBytes: 24 * GIB },
      { name: 'Vulkan1', totalBytes: 1.5 * GIB },
      { name: 'RPC0', totalBytes: 512 * MIB },
    ]);
  });

  it('survive being handed on', () => {
    const devices = parseSimDevices('CUDA0=24GiB,CUDA1=1');
    expect(parseSimDevices(formatSimDevices(devices))).toEqual(devices);
  });

  it.each([
    ['', '"" in the simulated devices is not NAME=SIZE'],
    ['CUDA0', '"CUDA0" in the simulated devices is not NAME=SIZE'],
    ['CUDA0=24GiB,', 'is not NAME=SIZE'],
    ['CUDA0=lots', '"lots" is no size for the simulated device CUDA0'],
    ['CUDA0=24GB', '"24GB" is no size'],
    ['CUDA0=0', '"0" is no size'],
    ['CUDA0=1GiB,CUDA0=2GiB', 'CUDA0 is named twice'],
  ])('%j is refused in one sentence with an example', (text, words) => {
    expect(() => parseSimDevices(text)).toThrow(words);
    expect(() => parseSimDevices(text)).toThrow('Write it like CUDA0=24GiB,CUDA1=24GiB.');
  });
});
