import type { SupervisorClient } from '../../src/client/types.js';
import type { DomainStore } from '../../src/store/domain-store.js';
import type { Dialog, ScreenStore } from '../../src/store/screen-store.js';
import type { Answer } from '../layout/dialog.js';
import type { ScreenOptions, ScreenView } from '../view.js';

/** What a command may use. */
export interface CommandContext {
  readonly domain: DomainStore;
  readonly screen: ScreenStore;
  readonly client: SupervisorClient;
  readonly options: ScreenOptions;
  /** What the screen shows now; null before the first snapshot. */
  view(): ScreenView | null;
  /** Rows that PgUp and PgDn move by. */
  pageSize(): number;
  redraw(): void;
  /** Gives the terminal to the shell until that continues this program. */
  suspend(): void;
  /** Does what was answered; `dialog` is the question, where one was open. */
  answer(answer: Answer, dialog: Dialog | null): void;
}

export type CommandGroup = 'models' | 'look' | 'move' | 'screen';

/**
 * One thing that can be done. Key handling, the help screen, the hints in the last row and the command line
 * (`:`) are all made from these.
 */
export interface Command {
  /** The verb, the same as on the command line where that has one. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly group: CommandGroup;
  /** One line of help. */
  readonly help: string;
  /** The few words in the last row, or null when it is not to be named there. */
  readonly hint: string | null;
  /** True for what changes something in the supervisor; `--read-only` hides it. */
  readonly acts: boolean;
  /** Whether it would do anything now. */
  available(view: ScreenView): boolean;
  run(context: CommandContext, view: ScreenView, key: string | null): void;
}
