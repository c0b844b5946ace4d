import { isDeepStrictEqual } from 'node:util';
import { ask } from '../clients.js';
import { NO_COUNTS, type Part } from '../part.js';
import { onStockRouter } from '../stock-router.js';
import { PINNED, Supervised } from '../supervised.js';

/** What every model has in it, whichever router lists it; see the README for why ours is other than theirs. */
const DIFFERENT_ON_PURPOSE: ReadonlySet<string> = new Set(['created', 'status.args', 'status.preset']);
const LOADED = 'ant';

type Fields = Readonly<Record<string, unknown>>;

export const listing: Part = {
  name: 'listing',
  story: 'GET /models says all that the stock router says of the same directory, of models that run and that do not',
  weight: 0,
  run: ({ rig, models }) => {
    return Supervised.on(rig, { models, args: PINNED }, async (supervised) => {
      const ours = await modelsAt(supervised.url);
      await supervised.act('unload', LOADED);
      await supervised.until('nothing runs', (snapshot) => snapshot.models.every(({ word }) => word === 'unloaded'));
      const theirs = await onStockRouter(supervised.machine, ['--models-dir', models, ...PINNED], modelsAt);
      const missing = [...theirs.keys()].filter((id) => !ours.has(id)).map((id) => `${id} is not listed`);
      const faults = [...theirs].flatMap(([id, fields]) => differences(id, fields, ours.get(id) ?? {}));
      const more = new Set([...ours].flatMap(([id, fields]) => newFields(fields, theirs.get(id) ?? {})));
      return {
        rows: [{ ...NO_COUNTS, name: 'listing' }],
        faults: [...missing, ...faults],
        remarks: [`besides, ours says ${[...more].sort().join(', ')}`],
      };
    });
  },
};

/** What is listed once one of the models is up, by id, every field by its path. */
async function modelsAt(url: string): Promise<ReadonlyMap<string, Fields>> {
  const failure = await ask(url, LOADED);
  if (failure !== null) throw new Error(failure);
  const { data } = (await (await fetch(`${url}/models`)).json()) as { data: (Fields & { id: string })[] };
  return new Map(data.map((model) => [model.id, flat(model)]));
}

function flat(fields: Fields, above = ''): Fields {
  const entries = Object.entries(fields).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(flat(value as Fields, `${above}${name}.`))
      : [[`${above}${name}`, value]],
  );
  return Object.fromEntries(entries);
}

function differences(id: string, theirs: Fields, ours: Fields): readonly string[] {
  return Object.entries(theirs).flatMap(([path, value]) => {
    if (typeof ours[path] === typeof value && DIFFERENT_ON_PURPOSE.has(path)) return [];
    if (isDeepStrictEqual(ours[path], value)) return [];
    return [`${id}: ${path} is ${JSON.stringify(value)} there and ${JSON.stringify(ours[path])} here`];
  });
}

function newFields(ours: Fields, theirs: Fields): readonly string[] {
  return Object.keys(ours)
    .filter((path) => !(path in theirs))
    .map((path) => path.split('.')[0] ?? path);
}
