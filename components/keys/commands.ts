import { openDialog } from '../../src/store/screen-store.js';
import { offers, type ScreenView } from '../view.js';
import type { Command } from './command.js';
import { COPY_COMMANDS } from './copy-commands.js';
import { LOG_COMMANDS } from './log-commands.js';
import { LOOK_COMMANDS } from './look-commands.js';
import { MODEL_COMMANDS } from './model-commands.js';
import { MOVE_COMMANDS } from './move-commands.js';
import { REQUEST_COMMANDS } from './request-commands.js';
import { TIME_COMMANDS } from './time-commands.js';

const SCREEN_COMMANDS: readonly Command[] = [
  {
    name: 'start-again',
    keys: ['a'],
    group: 'screen',
    help: 'start the supervisor of this screen again, once it has ended',
    hint: 'start again',
    acts: true,
    needs: 'stop',
    takes: null,
    otherwise: 'start-again does nothing: the supervisor runs, or this screen did not start it',
    available: (view) => view.ended !== null,
    run: (context) => context.answer('start-again', null),
  },
  {
    name: 'command',
    keys: [':'],
    group: 'screen',
    help: 'type a command by its name, with what it is for: load NAME; Tab lists and completes, Up brings back',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.screen.setState({ input: { kind: 'command', text: '', before: '' }, message: null }),
  },
  {
    name: 'redraw',
    keys: ['ctrl+l'],
    group: 'screen',
    help: 'draw the whole screen again',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.redraw(),
  },
  {
    name: 'suspend',
    keys: ['ctrl+z'],
    group: 'screen',
    help: 'back to the shell for a while; fg brings the screen back',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.suspend(),
  },
  {
    name: 'quit',
    keys: ['q', 'ctrl+c'],
    group: 'screen',
    help: 'leave: asks what becomes of the models',
    hint: 'leave',
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context, view) => {
      // Whoever looks at a recording keeps nobody from anything.
      const isLive = view.connection.state === 'live' && view.position === null;
      if (isLive && !context.screen.getState().stopping) {
        openDialog(context.screen, { kind: 'leave' });
      } else context.answer('leave', null);
    },
  },
];

/** The one table: key handling, help, hints and the command line are all made from it. */
export const COMMANDS: readonly Command[] = [
  ...MODEL_COMMANDS,
  ...LOOK_COMMANDS,
  ...LOG_COMMANDS,
  ...REQUEST_COMMANDS,
  ...COPY_COMMANDS,
  ...TIME_COMMANDS,
  ...MOVE_COMMANDS,
  ...SCREEN_COMMANDS,
];

/** The command that a key stands for, or null. */
export function commandForKey(key: string): Command | null {
  return COMMANDS.find((command) => command.keys.includes(key)) ?? null;
}

/** The commands that this screen has at all. */
export function offeredCommands(view: Pick<ScreenView, 'options'>): readonly Command[] {
  return COMMANDS.filter((command) => offers(view, command.needs, command.acts));
}
