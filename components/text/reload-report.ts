import type { ModelId, ReloadReport } from '../../src/client/types.js';
import { countText } from './format.js';

/** Names that are listed; of more only how many there are. */
const NAMES_LISTED = 2;

/** `1 model added (phi-4), 3 models changed`. */
export function whatChanged({ added, changed, removed }: Omit<ReloadReport, 'errors'>): string {
  const parts = [part(added, 'added'), part(changed, 'changed'), part(removed, 'removed')].filter(
    (text) => text !== '',
  );
  return parts.length === 0 ? 'nothing has changed' : parts.join(', ');
}

function part(models: readonly ModelId[], what: string): string {
  if (models.length === 0) return '';
  const names = models.length > NAMES_LISTED ? '' : ` (${models.join(', ')})`;
  return `${countText(models.length, 'model')} ${what}${names}`;
}
