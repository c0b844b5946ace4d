import { freePort } from '../../src/engines/free-port.js';
import { until } from '../support/until.js';
import { runLoad, type Load, type Served } from './clients.js';
import { end, type Machine } from './machine.js';
import { PINNED } from './supervised.js';

/** The same load on the router that the same binary has itself, with the same options. */
export function loadStockRouter(
  machine: Machine,
  models: string,
  modelsMax: number,
  load: Omit<Load, 'url'>,
): Promise<Served> {
  const args = ['--models-dir', models, '--models-max', String(modelsMax), ...PINNED];
  return onStockRouter(machine, args, (url) => runLoad({ ...load, url }));
}

/** The router that the binary has itself, for as long as it is used. */
export async function onStockRouter<T>(
  machine: Machine,
  args: readonly string[],
  use: (url: string) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const router = machine.start('llama-server', ['--port', String(port), ...args]);
  router.stdout?.resume();
  router.stderr?.resume();
  try {
    await until('the stock router listens', () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return await use(url);
  } finally {
    await end(router, 'SIGKILL');
    await until('its models have gone', async () =>
      (await machine.gpus()).every(({ processes }) => processes.length === 0),
    );
  }
}
