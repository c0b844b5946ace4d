import { loadOurs } from '../loaded.js';
import type { Part } from '../part.js';
import { Supervised } from '../supervised.js';

export const fitting: Part = {
  name: 'fitting',
  story: 'nothing is pinned: llama-server fits each model to what is free, splits it or moves it to the CPU',
  weight: 1,
  run: (context) => {
    // On GPUs of 600 MiB its own margin of 1024 MiB would leave nothing to fit.
    const args = ['--fit-target', '16', '--parallel', '1'];
    return Supervised.on(context.rig, { models: context.models, args }, (supervised) =>
      loadOurs('fitting', supervised, context, { fitsItself: true }),
    );
  },
};
