import { nearestNames, resolveModel } from '../catalog/resolve.js';
import type { ModelId, Snapshot } from '../client/types.js';
import { CommandFailed } from './usage-error.js';

const NEAREST_NAMED = 3;

/** The id of the model that is called so. Throws CommandFailed, with the names that may be meant, where there is none. */
export function knownId({ models }: Snapshot, name: string): ModelId {
  const model = resolveModel(models, name);
  if (model !== null) return model.id;
  throw new CommandFailed(`model '${name}' is not in the catalog; ${nearNames(models, name)}`, {
    code: 'model_not_found',
  });
}

/** What may be meant by a name that nothing is called by, or how to find out. */
export function nearNames(models: Snapshot['models'], name: string): string {
  const nearest = nearestNames(models, name, NEAREST_NAMED);
  return nearest.length > 0 ? `did you mean ${nearest.join(' or ')}?` : 'llm-tui ps lists the models that there are';
}
