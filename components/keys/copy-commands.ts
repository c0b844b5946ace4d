import { say, type WhySubject } from '../../src/store/screen-store.js';
import { decisionRows } from '../panes/ledger.js';
import { deviceRows } from '../panes/device-page.js';
import { lineAt } from '../panes/log-window.js';
import { shellWord } from '../text/shell.js';
import { PLAIN } from '../theme/tones.js';
import type { ScreenView } from '../view.js';
import { paintRow, type Row } from '../widgets/row.js';
import type { Command, CommandContext } from './command.js';
import { openLog, shownRows } from './log-commands.js';
import { targetModel, whySubject } from './targets.js';

/** A record that is copied is as wide as it has to be. */
const COPIED_COLUMNS = 120;

/** What is to be copied, and how it is called. */
interface Copied {
  readonly what: string;
  readonly text: string;
}

/** What can be taken along. */
export const COPY_COMMANDS: readonly Command[] = [
  {
    name: 'copy',
    keys: ['y'],
    group: 'look',
    help: 'copy what is selected: a model’s id, a decision or a device as text, a line of a log',
    hint: 'copy',
    acts: false,
    needs: null,
    takes: 'model',
    available: (view) => selected(view) !== null || openLog(view) !== null,
    run: (context, view) => {
      const copied = logLine(context, view) ?? selection(view);
      if (copied !== null) copy(context, copied);
    },
  },
  {
    name: 'copy-curl',
    keys: ['Y'],
    group: 'look',
    help: 'copy a curl command that asks the model something',
    hint: null,
    acts: false,
    needs: 'load',
    takes: 'model',
    available: (view) => targetModel(view) !== null,
    run: (context, view) => {
      const model = targetModel(view);
      if (model !== null) copy(context, { what: `a curl command for ${model}`, text: curlCommand(view, model) });
    },
  },
];

function copy(context: CommandContext, { what, text }: Copied): void {
  context.copy(text);
  say(context.screen, 'good', `copied ${what}`);
}

/** The line that was found, else the last one on the screen. */
function logLine(context: CommandContext, view: ScreenView): Copied | null {
  const tail = openLog(view);
  if (tail === null) return null;
  const { found } = context.screen.getState().logView;
  const line = found ?? shownRows(context, view, tail).rows.at(-1)?.line;
  if (line === undefined) return null;
  const which = found === null ? 'the last line shown' : 'the line that was found';
  return { what: `${which}: ${lineAt(tail, line)}`, text: lineAt(tail, line) };
}

function selection(view: ScreenView): Copied | null {
  const subject = selected(view);
  if (subject === null) return null;
  switch (subject.kind) {
    case 'decision': {
      const decision = view.snapshot.decisions.find(({ number }) => number === subject.number);
      if (decision === undefined) return null;
      const rows = decisionRows(decision, COPIED_COLUMNS, view.options.glyphs.cut);
      return { what: `decision #${decision.number}`, text: asText(rows) };
    }
    case 'device':
      return { what: `all about ${subject.device}`, text: asText(deviceRows(view, subject.device)) };
    case 'model':
      return { what: subject.model, text: subject.model };
  }
}

/** On the page of a decision or a device that is what is meant; in the queue it is the model, not why it waits. */
function selected(view: ScreenView): WhySubject | null {
  const { page, focus } = view.screen;
  if (view.named === null && page?.kind === 'why') return page.subject;
  const model = targetModel(view);
  const isModel = view.named !== null || page !== null || focus === 'queue';
  if (isModel) return model === null ? null : { kind: 'model', model };
  return whySubject(view);
}

function asText(rows: readonly Row[]): string {
  return rows.map((row) => paintRow(row, PLAIN).trimEnd()).join('\n');
}

function curlCommand(view: ScreenView, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return `curl ${view.snapshot.supervisor.url}/v1/chat/completions -H 'Content-Type: application/json' -d ${shellWord(body)}`;
}
