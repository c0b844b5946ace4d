import type { ModelId } from '../../src/client/types.js';
import type { Dialog } from '../../src/store/screen-store.js';
import { clockText, countText, endText } from '../text/format.js';
import { requestSentence } from '../panes/requests.js';
import { rowWidth, span, wrapRow, type Row } from '../widgets/row.js';
import { rule } from '../widgets/rule.js';
import { offers, type ScreenView } from '../view.js';

/** One answer: the key that gives it and what it does. */
export interface Choice {
  readonly key: string;
  readonly answer: Answer;
  readonly label: string;
  /** Gives the same answer and is not shown: it is what this is called in another form of the question. */
  readonly alsoKey?: string;
}

export type Answer = 'detach' | 'leave' | 'stop-all' | 'start-again' | 'notices' | 'confirm' | 'cancel';

/** A question and its answers; Enter gives the first one, Esc the last. */
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly choices: readonly Choice[];
}

const CANCEL: Choice = { key: 'escape', answer: 'cancel', label: 'cancel' };

/** The question that a dialog asks, given what is known now. */
export function questionOf(dialog: Dialog, view: ScreenView): Question {
  switch (dialog.kind) {
    case 'leave':
      return leaveQuestion(view);
    case 'ended':
      return endedQuestion(view);
    case 'confirm': {
      const model = view.snapshot.models.find((known) => known.id === dialog.model);
      const requests = model?.requests ?? 0;
      const busy = `${countText(requests, 'request')} in flight`;
      if (dialog.request !== undefined) return cancelOneQuestion(dialog.request, view);
      if (dialog.action === 'cancel') return cancelQuestion(dialog.model, view, busy);
      const kill = dialog.action === 'kill';
      return {
        title: kill ? 'Kill' : 'Unload',
        text: kill
          ? `Kill ${dialog.model} at once?${requests === 0 ? '' : ` ${busy} will be cut off.`}`
          : requests === 0
            ? `Unload ${dialog.model}? No request is in flight any more: it leaves at once.`
            : `Unload ${dialog.model} with ${busy}? It takes no new ones and leaves when these have ended.`,
        choices: [{ key: 'y', answer: 'confirm', label: kill ? 'kill it' : 'unload it' }, CANCEL],
      };
    }
  }
}

/** Those who wait lose nothing but their place; those who are being answered lose their answers. */
function cancelQuestion(model: ModelId, view: ScreenView, busy: string): Question {
  const waiters = view.snapshot.queue.find((entry) => entry.model === model)?.waiters ?? 0;
  const waiting = waiters === 0 ? '' : `, and ${waiters} that wait${waiters === 1 ? 's' : ''}`;
  return {
    title: 'Cancel',
    text: `Cancel ${busy} at ${model}${waiting}? Their clients get an error instead of the rest.`,
    choices: [
      { key: 'y', answer: 'confirm', label: 'cancel them' },
      { ...CANCEL, label: 'keep them' },
    ],
  };
}

function leaveQuestion(view: ScreenView): Question {
  const running = view.snapshot.models.filter((model) => model.generation !== null).length;
  const requests = view.snapshot.models.reduce((sum, model) => sum + model.requests, 0);
  const lost = requests === 0 ? '' : `, cuts off ${countText(requests, 'request')}`;
  const stop: Choice = {
    key: 's',
    answer: 'stop-all',
    label: `stop ${running === 0 ? '' : `${countText(running, 'model')} and `}the supervisor${lost}`,
  };
  // Where it is this screen's own, going without detaching would not leave everything running.
  const leave: Choice = {
    ...{ key: 'l', answer: 'leave', label: 'leave' },
    ...(view.options.ownsSupervisor ? {} : { alsoKey: 'd' }),
  };
  return view.options.ownsSupervisor && offers(view, 'detach', false)
    ? {
        title: 'Leave',
        text: 'What becomes of the models? Ctrl-C again stops all.',
        choices: [
          { key: 'd', alsoKey: 'l', answer: 'detach', label: 'detach, everything keeps running' },
          stop,
          CANCEL,
        ],
      }
    : {
        title: 'Leave',
        text: `The ${view.options.source.kind} was there before this screen and keeps running without it.`,
        choices: [leave, ...(offers(view, 'stop', true) ? [stop] : []), CANCEL],
      };
}

function cancelOneQuestion(id: string, view: ScreenView): Question {
  const request = view.snapshot.requests?.find((open) => open.id === id);
  if (request === undefined) {
    const text = `${id} has ended meanwhile: there is nothing to cancel.`;
    return { title: 'Cancel', text, choices: [{ ...CANCEL, label: 'back' }] };
  }
  return {
    title: 'Cancel',
    text: `Cancel ${requestSentence(request, view)}? Its client gets an error instead of the rest.`,
    choices: [
      { key: 'y', answer: 'confirm', label: 'cancel it' },
      { ...CANCEL, label: 'keep it' },
    ],
  };
}

/** What is to be done about a supervisor that has ended; where another one has come meanwhile, nothing. */
function endedQuestion({ ended, options }: ScreenView): Question {
  const again: Choice = { key: 'a', answer: 'start-again', label: 'start it again, with the same command line' };
  const leave: Choice = { key: 'q', answer: 'leave', label: 'leave' };
  const more: Choice = { key: 'i', answer: 'notices', label: 'tell more' };
  const look: Choice = { ...CANCEL, label: 'look at what was known last' };
  return {
    title: 'The supervisor has ended',
    text:
      ended === null
        ? 'A supervisor answers again.'
        : `It ended at ${clockText(ended.at)} (${endText(ended)}), and its models with it. Its log: ${ended.log}`,
    choices: [...(ended === null || options.readOnly ? [] : [again]), more, leave, look],
  };
}

/** The question as a sheet for the bottom of the screen, on as many rows as it takes. */
export function dialogRows(question: Question, view: ScreenView, width: number): Row[] {
  const choices = question.choices.map((choice): Row => [
    span(keyLabel(choice.key), 'accent'),
    span(` ${choice.label}`),
  ]);
  const inOneRow = choices.flatMap((choice, index): Row => [span(index === 0 ? ' ' : '   '), ...choice]);
  return [
    rule(question.title, width, view.options.glyphs, true),
    ...wrapRow([span(' '), span(question.text, 'strong')], width),
    ...(rowWidth(inOneRow) <= width ? [inOneRow] : choices.flatMap((choice) => wrapRow([span(' '), ...choice], width))),
  ];
}

/** A choice in a line of its own. */
export function choiceText(choice: Choice): string {
  return `${keyLabel(choice.key)} ${choice.label}`;
}

function keyLabel(key: string): string {
  return key === 'escape' ? 'Esc' : key;
}
