import { loadOurs } from '../loaded.js';
import type { Part } from '../part.js';
import { Supervised } from '../supervised.js';

export const boxed: Part = {
  name: 'boxed',
  story: 'the engine in the box on the same GPUs: what it measures, says and holds agree, and models stay on the GPUs',
  weight: 1,
  run: (context) => {
    const args = ['--engine', 'embedded', '--ctx-size', '512', '--parallel', '1'];
    return Supervised.on(context.rig, { models: context.models, args }, async (supervised) => {
      const result = await loadOurs('boxed', supervised, context);
      const onHost = supervised.made('admit').filter(({ sentence }) => !sentence.includes(' on CUDA'));
      return { ...result, faults: [...result.faults, ...onHost.map(({ sentence }) => `not on a GPU: ${sentence}`)] };
    });
  },
};
