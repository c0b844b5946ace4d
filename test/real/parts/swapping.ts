import type { Served } from '../clients.js';
import { during } from '../during.js';
import { loadOf, loadOurs, sayServed } from '../loaded.js';
import { Machine } from '../machine.js';
import { GPUS_MIB } from '../models.js';
import { NO_COUNTS, type Context, type Part, type Row } from '../part.js';
import { loadStockRouter } from '../stock-router.js';
import { PINNED, Supervised } from '../supervised.js';

export const swapping: Part = {
  name: 'swapping',
  story: 'four models, each of which fits on either GPU alone; then the same load on the stock router',
  weight: 6,
  async run(context) {
    const share = { ...context, millis: context.millis / 3 };
    const ours = await serveOurs(share);
    const four = await serveStock(share, 4);
    const one = await serveStock(share, 1);
    const slower = [four, one].filter(({ served }) => rateOf(served) >= rateOf(ours.served));
    return {
      rows: [...ours.rows, four.row, one.row],
      faults: [...ours.faults, ...slower.map(({ row }) => `ours served no more than ${row.name}`)],
      remarks: [...ours.remarks, sayServed(four.row.name, four.served), sayServed(one.row.name, one.served)],
    };
  },
};

function serveOurs(context: Context): ReturnType<typeof loadOurs> {
  const { rig, models } = context;
  return Supervised.on(rig, { models, args: [...PINNED] }, (supervised) => loadOurs('swapping', supervised, context));
}

function serveStock(context: Context, modelsMax: number): Promise<{ readonly served: Served; readonly row: Row }> {
  return during(new Machine(context.rig, GPUS_MIB), async (machine) => {
    const served = await loadStockRouter(machine, context.models, modelsMax, loadOf(context));
    const row = {
      ...NO_COUNTS,
      name: `stock router, --models-max ${modelsMax}`,
      requests: served.requests,
      failed: served.failures.length,
      outOfMemory: await machine.refusals(),
    };
    return { served, row };
  });
}

/** Good answers a second. */
function rateOf({ answeredMillis, seconds }: Served): number {
  return answeredMillis.length / seconds;
}
