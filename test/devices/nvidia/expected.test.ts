import { describe, expect, it } from 'vitest';
import { ExpectedGpus, type ExpectedGpusOptions } from '../../../src/devices/nvidia/expected.js';
import { tempTree, type Tree } from '../../support/temp-tree.js';

/** A card on the bus, under a driver of the kernel's or none. */
const card = (address: string, driver: string | null, vendor = '0x10de', pciClass = '0x030000'): Tree => ({
  [`sys/bus/pci/devices/${address}/vendor`]: `${vendor}\n`,
  [`sys/bus/pci/devices/${address}/class`]: `${pciClass}\n`,
  ...(driver === null ? {} : { [`sys/bus/pci/devices/${address}/driver`]: { linkTo: `../../drivers/${driver}` } }),
});
const NODES: Tree = { 'dev/nvidia0': '', 'dev/nvidia1': '', 'dev/nvidiactl': '', 'dev/nvidia-uvm': '' };
const TWO_CARDS: Tree = { ...card('0000:01:00.0', 'nvidia'), ...card('0000:41:00.0', null, '0x10de', '0x030200') };
const AUDIO = card('0000:01:00.1', 'snd_hda_intel', '0x10de', '0x040300');
const NOT_LOADED = 'nvml: Driver Not Loaded (nvmlInit_v2, code 9)';
const MISMATCH = 'nvml: Driver/library version mismatch (nvmlInit_v2, code 18)';

const named = (tree: Tree, words: string | null, options: Partial<ExpectedGpusOptions> = {}): readonly string[] =>
  new ExpectedGpus({ root: tempTree({ 'dev/null': '', ...tree }), visibleDevices: undefined, ...options }).names(words);

describe.runIf(process.platform !== 'win32')('the GPUs that there must be although nobody can read them', () => {
  it.each([
    ['a driver that fails, with its nodes', { ...NODES, ...TWO_CARDS }, MISMATCH, ['CUDA0', 'CUDA1']],
    ['one that is not loaded, with cards on the bus', { ...TWO_CARDS, ...AUDIO }, NOT_LOADED, ['CUDA0', 'CUDA1']],
    ['one that fails where nothing else can be seen', {}, MISMATCH, ['CUDA0']],
    ['one that hangs', {}, 'no answer yet; the driver hangs, or is very slow', ['CUDA0']],
    ['nobody to ask, with the nodes of a driver', NODES, null, ['CUDA0', 'CUDA1']],
  ])('are told by %s', (_case, tree, words, names) => {
    expect(named(tree, words)).toEqual(names);
  });

  it.each([
    ['a library that was installed where there is no GPU', AUDIO, NOT_LOADED],
    ['a tool that finds none', {}, 'No devices were found'],
    ['a card that is lent to another machine', card('0000:01:00.0', 'vfio-pci'), NOT_LOADED],
    ['a card under a driver that CUDA does not know', card('0000:01:00.0', 'nouveau'), NOT_LOADED],
    ['a card of another maker', card('0000:01:00.0', null, '0x1002'), NOT_LOADED],
    ['the bus of a machine that has lent a container no card', TWO_CARDS, null],
    ['nothing at all', {}, null],
  ])('are not made up from %s', (_case, tree, words) => {
    expect(named(tree, words)).toEqual([]);
  });

  it('are those that the engine names', () => {
    const engineDevices = (): readonly string[] => ['CUDA0', 'CUDA1', 'CUDA2', 'Vulkan0'];
    expect(named({}, null, { engineDevices })).toEqual(['CUDA0', 'CUDA1', 'CUDA2']);
    expect(named({}, null, { engineDevices: () => ['Vulkan0'] })).toEqual([]);
    expect(named(NODES, MISMATCH, { engineDevices: () => null })).toEqual(['CUDA0', 'CUDA1']);
  });

  it.each([
    ['1', ['CUDA0']],
    ['GPU-aaaa,MIG-bbbb', ['CUDA0', 'CUDA1']],
    ['0,-1,1', ['CUDA0']],
    ['0,1,2,3', ['CUDA0', 'CUDA1']],
    ['', []],
    ['-1', []],
  ])('are no more than a child sees with CUDA_VISIBLE_DEVICES=%j', (visibleDevices, names) => {
    expect(named(NODES, MISMATCH, { visibleDevices })).toEqual(names);
  });
});
