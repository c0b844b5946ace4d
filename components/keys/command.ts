import type { Ability, SupervisorClient } from '../../src/client/types.js';
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
  /** Rows that an open page has, with its title. */
  bodyRows(): number;
  /** Has the terminal copy a text, as far as it does that for programs. */
  copy(text: string): void;
  redraw(): void;
  /** Gives the terminal to the shell until that continues this program. */
  suspend(): void;
  /** Does what was answered; `dialog` is the question, where one was open. */
  answer(answer: Answer, dialog: Dialog | null): void;
}

export type CommandGroup = 'models' | 'look' | 'move' | 'screen';

/** How a command came to be run. */
export interface Invocation {
  /** Null: it was typed. */
  readonly key: string | null;
  /** What was typed after its name; null: nothing. A model is in the view instead. */
  readonly argument: string | null;
}

/** What may follow a command's name: the name of a model, any words, or one of these. */
export type Argument = 'model' | 'words' | readonly string[];

/**
 * One thing that can be done. Key handling, the help screen, the hints in the last row and the command line
 * (`:`) are all made from these.
 */
export interface Command {
  /** The verb, the same as on the command line where that has one. */
  readonly name: string;
  /** None: it can only be typed, since a key of another one does the same where it makes sense. */
  readonly keys: readonly string[];
  readonly group: CommandGroup;
  /** One line of help. */
  readonly help: string;
  /** The few words in the last row, or null when it is not to be named there. */
  readonly hint: string | null;
  /** True for what changes something in the supervisor; `--read-only` hides it. */
  readonly acts: boolean;
  /** What the source must be able to do for it; null: nothing. Where it cannot, there is no such command. */
  readonly needs: Ability | null;
  readonly takes: Argument | null;
  /** True for what only a supervisor that answers can do or tell; absent: what is known here suffices. */
  readonly asks?: true;
  /** What is said where it would do nothing; absent: just that. */
  readonly otherwise?: string;
  /** Whether it would do anything now. */
  available(view: ScreenView): boolean;
  run(context: CommandContext, view: ScreenView, how: Invocation): void;
}
