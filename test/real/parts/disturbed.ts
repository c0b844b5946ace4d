import { loadOurs } from '../loaded.js';
import type { Part } from '../part.js';
import { LOGGING, PINNED, Supervised } from '../supervised.js';

/** At rest the devices are looked at once a second: by then it has grown by 20 MiB, and by a little more while a load runs. */
const FOREIGN_MARGIN_MIB = 48;
const FOREIGN = { mib: 150, growMibPerSecond: 20 } as const;

export const foreign: Part = {
  name: 'foreign',
  story: `a program that is not ours grows by ${FOREIGN.growMibPerSecond} MiB/s on GPU 0`,
  weight: 1.5,
  run: (context) => {
    const margin = ['--models-memory-margin', String(FOREIGN_MARGIN_MIB)];
    const setting = { models: context.models, args: [...PINNED, ...LOGGING, ...margin] };
    return Supervised.on(context.rig, setting, async (supervised) => {
      await supervised.machine.foreignProgram(0, FOREIGN.mib, FOREIGN.growMibPerSecond);
      return loadOurs('foreign', supervised, context);
    });
  },
};

export const unpinned: Part = {
  name: 'unpinned',
  story: 'the same without --ctx-size: every model takes the context that it was trained for',
  weight: 1,
  run: (context) => {
    const args = ['--n-gpu-layers', '99', '--fit', 'off', '--parallel', '1', ...LOGGING];
    return Supervised.on(context.rig, { models: context.models, args }, (supervised) =>
      loadOurs('unpinned', supervised, context),
    );
  },
};

/** Scratch memory that no log and no measurement speaks of, taken with the first kernels. */
const POOL_MIB = 60;
const GREEDY_MODELS = ['ant', 'bee'];

export const greedy: Part = {
  name: 'greedy',
  story: `models take ${POOL_MIB} MiB more than measured: two that should fit together do not, until that is learnt`,
  weight: 1,
  run: (context) => {
    // Room for both as measured (about 392 and 412 MiB) and the margin, but not for what they take besides.
    const setting = { gpus: [860], environment: { EMU_POOL_MIB: String(POOL_MIB) }, models: context.models };
    return Supervised.on(context.rig, { ...setting, args: [...PINNED] }, async (supervised) => {
      const result = await loadOurs('greedy', supervised, context, {
        models: GREEDY_MODELS,
        mayRunOut: GREEDY_MODELS.length,
      });
      const learnt = supervised.made('out-of-memory').length > 0 ? [] : ['memory never ran out: this shows nothing'];
      return { ...result, faults: [...result.faults, ...learnt] };
    });
  },
};

export const late: Part = {
  name: 'late',
  story: 'memory of a process that has ended comes back 1.5 s later',
  weight: 1.5,
  run: (context) => {
    const setting = { environment: { EMU_RELEASE_MS: '1500' }, models: context.models };
    return Supervised.on(context.rig, { ...setting, args: [...PINNED, ...LOGGING] }, (supervised) =>
      loadOurs('late', supervised, context),
    );
  },
};
