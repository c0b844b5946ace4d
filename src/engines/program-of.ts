import { withoutParentDeath } from '../../native/parent-death.js';
import type { Command } from './engine.js';

/** The program that a command comes to run, and its arguments, as the system shows them. */
export function programOf(command: Command): Pick<Command, 'file' | 'args'> {
  const { file, args } = withoutParentDeath(command);
  return { file, args };
}
