import type { Snapshot } from '../../../src/client/types.js';
import { during } from '../during.js';
import { loadOurs } from '../loaded.js';
import { Machine } from '../machine.js';
import { GPUS_MIB } from '../models.js';
import type { Part, PartResult } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

/** At rest the devices are looked at once a second: by then it has grown by 20 MiB, and by a little more while a load runs. */
const FOREIGN_MARGIN_MIB = 48;
const FOREIGN = { mib: 150, growMibPerSecond: 20 } as const;

export const foreign: Part = {
  name: 'foreign',
  story: `a program that is not ours grows by ${FOREIGN.growMibPerSecond} MiB/s on GPU 0`,
  weight: 1.5,
  run: (context) => {
    const margin = ['--models-memory-margin', String(FOREIGN_MARGIN_MIB)];
    const setting = { models: context.models, args: [...PINNED, ...margin] };
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
    const args = ['--n-gpu-layers', '99', '--fit', 'off', '--parallel', '1'];
    return Supervised.on(context.rig, { models: context.models, args }, (supervised) =>
      loadOurs('unpinned', supervised, context),
    );
  },
};

/** Scratch memory that no log and no measurement speaks of, taken with the first kernels. */
const POOL_MIB = 200;
const GREEDY_MODELS = ['ant', 'bee'];
/** As measured, the two need about 820 MiB with a CUDA context of 200 MiB each, as guessed at first up to 1040; really 1205. */
const GREEDY_GPU_MIB = 1100;
/** Where the first is at work before the second is asked for, what it takes is known in time, and nothing runs out. */
const GREEDY_TRIES = 5;

export const greedy: Part = {
  name: 'greedy',
  story: `models take ${POOL_MIB} MiB more than measured: two that should fit together do not, until that is learnt`,
  weight: 1,
  run: async (context) => {
    const environment = { EMU_POOL_MIB: String(POOL_MIB) };
    const setting = { gpus: [GREEDY_GPU_MIB], environment, models: context.models, args: PINNED };
    const once = (): Promise<PartResult & { readonly ranOut: boolean }> =>
      Supervised.on(context.rig, setting, async (supervised) => {
        const isMeasured = ({ models }: Snapshot): boolean =>
          models.filter(({ id }) => GREEDY_MODELS.includes(id)).every(({ memory }) => memory.status === 'measured');
        await supervised.until('both are measured, so that neither has to wait for that', isMeasured);
        const mayRunOut = GREEDY_MODELS.length;
        const result = await loadOurs('greedy', supervised, context, { models: GREEDY_MODELS, mayRunOut });
        return { ...result, ranOut: supervised.made('out-of-memory').length > 0 };
      });
    let result = await once();
    for (let tries = 1; tries < GREEDY_TRIES && !result.ranOut && result.faults.length === 0; tries += 1)
      result = await once();
    const learnt = result.ranOut ? [] : ['memory never ran out: this shows nothing'];
    return { ...result, faults: [...result.faults, ...learnt] };
  },
};

const LATE_MILLIS = 1500;

export const late: Part = {
  name: 'late',
  story: `memory of a process that has ended comes back ${LATE_MILLIS} ms later`,
  weight: 1.5,
  run: ({ rig, models, ...context }) =>
    during(new Machine(rig, GPUS_MIB), async (machine) => {
      // Measured before: the contexts of four measuring children in a row, all of them late, would fill GPUs as small as these.
      await during(await Supervised.start(machine, models, ...PINNED), () => Promise.resolve());
      machine.environment['EMU_RELEASE_MS'] = String(LATE_MILLIS);
      return during(await Supervised.start(machine, models, ...PINNED), (supervised) =>
        loadOurs('late', supervised, { rig, models, ...context }),
      );
    }),
};
