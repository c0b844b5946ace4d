import { say } from '../../src/store/screen-store.js';
import { whatChanged } from '../text/reload-report.js';
import type { CommandContext } from './command.js';

/** Has the sources of models read again, and says what came of it. */
export function reload(context: CommandContext): void {
  say(context.screen, 'plain', 'reload: reading the models', Infinity);
  void context.client.reload().then((result) => {
    if (!result.ok) say(context.screen, 'bad', `reload: ${result.message}`);
    else if (result.report.errors.length > 0) say(context.screen, 'bad', `reload: ${result.report.errors.join('; ')}`);
    else say(context.screen, 'good', `reload: ${whatChanged(result.report)}`);
  });
}
