import type { ModelId } from '../../src/client/types.js';
import { shownLog, type LineInput, type Page } from '../../src/store/screen-store.js';
import { questionOf, choiceText } from '../layout/dialog.js';
import { pageContent } from '../layout/page.js';
import { unseenReport } from '../panes/out-of-memory.js';
import type { KeyTexts } from '../layout/frame.js';
import type { PageContent } from '../panes/page-content.js';
import { stateOf } from '../text/model-state.js';
import { clockText } from '../text/format.js';
import { requestSentence, requestsList, requestsOf, selectedRequest } from '../panes/requests.js';
import { PLAIN } from '../theme/tones.js';
import { paintRow } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { selectedId } from '../view.js';
import { cleanText, visibleText } from '../text/clean.js';
import { reportLines, selectionSentence, summary } from './sentences.js';

/** What is said when a line begins to be typed. */
const TYPING: Readonly<Record<LineInput['kind'], string>> = {
  filter: 'filter: type words, Enter keeps it, Esc drops it',
  command: 'command: type its name, Enter runs it, Tab lists and completes',
  search: 'search the log: type words, Enter finds them',
};

/** At most so many at a time: more would be read for minutes. */
const DECISIONS_MOST = 10;

/**
 * What has to be said after a change, line by line: decisions and changes of state as they come, and the answer to every
 * key. Figures are not news; whoever wants them goes to the device. Pure: the same views and key always give the same lines.
 * @param key that was pressed since, and wants an answer even where nothing came of it; null: none was, or its answer comes
 *   from the supervisor
 */
export function announce(
  before: ScreenView | null,
  after: ScreenView,
  texts: (view: ScreenView) => KeyTexts,
  key: string | null = null,
): string[] {
  if (before === null) return summary(after);
  const answered = answers(before, after, texts);
  const nothing = key === null || answered.length > 0 ? [] : nothingCame(before, after, texts, key);
  return [...news(before, after), ...answered, ...nothing].map(visibleText);
}

function news(before: ScreenView, after: ScreenView): string[] {
  return [
    ...connectionLines(before, after),
    ...noticeLines(before, after),
    ...decisionLines(before, after),
    ...stateLines(before, after),
  ];
}

function connectionLines({ connection: was }: ScreenView, after: ScreenView): string[] {
  const { connection: is, snapshot, screen } = after;
  if (was.state === is.state) return [];
  switch (is.state) {
    case 'connecting':
      return ['connecting'];
    case 'live':
      return ['connected again'];
    case 'lost':
      // What was told to stop has done so, and its screen says that as it leaves.
      return snapshot.shuttingDown || screen.stopping ? [] : [`connection lost: ${is.reason} Trying again.`];
  }
}

function noticeLines(before: ScreenView, after: ScreenView): string[] {
  const known = before.snapshot.supervisor.notices;
  const fresh = after.snapshot.supervisor.notices.filter((notice) => !known.includes(notice));
  const report = unseenReport(after);
  const isNew = report !== null && report.decision !== unseenReport(before)?.decision;
  return [...fresh.map((notice) => `notice: ${notice}`), ...(isNew ? reportLines(after) : [])];
}

function decisionLines(before: ScreenView, after: ScreenView): string[] {
  if (before.snapshot.decisions === after.snapshot.decisions) return [];
  const last = before.snapshot.decisions.at(-1)?.number ?? 0;
  const fresh = after.snapshot.decisions.filter(({ number, kind }) => number > last && kind !== 'measure');
  const left = fresh.length - DECISIONS_MOST;
  return [
    ...(left > 0 ? [`${left} more ${left === 1 ? 'decision' : 'decisions'}, then:`] : []),
    ...fresh.slice(-DECISIONS_MOST).map(({ at, kind, sentence }) => `${clockText(at)} ${kind}: ${sentence}`),
  ];
}

/** States that no decision tells of. */
function stateLines(before: ScreenView, after: ScreenView): string[] {
  if (before.snapshot.models === after.snapshot.models) return [];
  const words = new Map(before.snapshot.models.map((model) => [model.id, stateOf(model, before.snapshot).word]));
  return after.snapshot.models.flatMap((model) => {
    const { word } = stateOf(model, after.snapshot);
    const was = words.get(model.id);
    const told = word === 'SLEEPING' || word === 'PARKED' || word === 'HUNG' || was === 'HUNG';
    return told && was !== undefined && was !== word ? [`${model.id}: now ${word}, was ${was}`] : [];
  });
}

function answers(before: ScreenView, after: ScreenView, texts: (view: ScreenView) => KeyTexts): string[] {
  const { screen: was } = before;
  const { screen: is } = after;
  const lines: string[] = [];
  // A key that is no answer is told with the answers that there are.
  const isStillAsked = is.dialog !== null && is.dialog === was.dialog;
  if (is.message !== null && is.message !== was.message && !isStillAsked) lines.push(is.message.text);
  if (is.input !== null && is.input.kind !== was.input?.kind) {
    lines.push(TYPING[is.input.kind]);
  } else if (is.input !== null && was.input !== null) lines.push(...typedLines(was.input, is.input, texts(after)));
  if (is.input === null && is.filter !== was.filter)
    lines.push(`filter ${is.filter === '' ? 'dropped' : `"${is.filter}"`}`);
  if (was.input !== null && is.input === null && is.filter !== '') lines.push(`filter "${is.filter}"`);
  if ((is.frozen === null) !== (was.frozen === null))
    lines.push(is.frozen === null ? 'the view goes on' : 'the view is frozen');
  if (is.dialog !== null && is.dialog !== was.dialog) {
    const { text, choices } = questionOf(is.dialog, after);
    lines.push(text, ...choices.map(choiceText));
  }
  if (is.page !== was.page || (is.page !== null && is.logTail !== was.logTail))
    lines.push(...pageLines(before, after, (view) => texts(view).help()));
  const isBack = is.page === null && was.page !== null;
  if (is.page === null && is.input === null && (isBack || selectionKey(before) !== selectionKey(after))) {
    lines.push(selectionSentence(after));
  }
  return lines;
}

/** The answer to a key that has changed nothing that is heard. */
function nothingCame(
  before: ScreenView,
  after: ScreenView,
  texts: (view: ScreenView) => KeyTexts,
  key: string,
): string[] {
  const { dialog, input, page, zoom } = after.screen;
  if (dialog !== null) return [`${key} is no answer:`, ...questionOf(dialog, after).choices.map(choiceText)];
  if (before.screen.dialog !== null) return key === 'escape' || key === 'n' ? ['nothing was done'] : [];
  if (input !== null || before.screen.input !== null) return [];
  if (zoom !== before.screen.zoom) return ['zoom changes what is drawn, and nothing of what is told'];
  if (page !== null) return [`${pageTitle(page, after, texts)}: all of it was told; Esc goes back`];
  return [selectionSentence(after)];
}

function pageTitle(page: Page, view: ScreenView, texts: (view: ScreenView) => KeyTexts): string {
  if (page.kind === 'logs') return logTitle(page.model);
  if (page.kind === 'requests') return requestsList(view, page).title;
  return pageContent(page, view, () => texts(view).help()).title;
}

/** What came into the line without being typed letter by letter, and what there is to choose from. */
function typedLines(was: LineInput, is: LineInput, { choices }: KeyTexts): string[] {
  if (choices?.isListed === true && was.listed === undefined)
    return [`${choices.labels.length} to choose from, Tab goes through them: ${choices.labels.join(', ')}`];
  if (choices?.isListed === true && is.text !== was.text)
    return [choices.about === null || choices.about === is.text ? is.text : `${is.text}: ${choices.about}`];
  const isTyped = Math.abs(is.text.length - was.text.length) <= 1;
  return isTyped ? [] : [is.text === '' ? 'the line is empty' : is.text];
}

/** The whole page when it is opened; afterwards what was added at its end. */
function pageLines(before: ScreenView, after: ScreenView, help: (view: ScreenView) => PageContent): string[] {
  const { page } = after.screen;
  if (page === null) return [];
  if (page.kind === 'logs') return logLines(before, after, page.model);
  if (page.kind === 'requests') return requestLines(before, after, page);
  const textOf = (view: ScreenView): string[] => {
    const shown = view.screen.page;
    if (shown === null || shown.kind === 'logs' || shown.kind === 'requests') return [];
    const { title, rows } = pageContent(shown, view, () => help(view));
    return [title, ...rows.map((row) => paintRow(row, PLAIN).trim().replace(/ {2,}/gu, '  '))].filter(
      (line) => line !== '',
    );
  };
  const lines = textOf(after);
  if (before.screen.page === null || before.screen.page.kind !== page.kind) return lines;
  const known = textOf(before);
  const shared = lines.findIndex((line, index) => line !== known[index]);
  return shared < 0 ? [] : lines.slice(shared);
}

/** All of them when their list is opened, then the one that is gone to. */
function requestLines(before: ScreenView, after: ScreenView, page: Extract<Page, { kind: 'requests' }>): string[] {
  const chosen = selectedRequest(after, page);
  if (before.screen.page?.kind === 'requests') return chosen === null ? [] : [requestSentence(chosen, after)];
  const { title, empty } = requestsList(after, page);
  const open = requestsOf(after, page.model);
  return [title, ...(open.length === 0 ? empty : open.map((request) => requestSentence(request, after)))];
}

/** The title when the log is opened, and the lines that were not told yet. */
function logLines({ screen: was }: ScreenView, { screen: is }: ScreenView, model: ModelId): string[] {
  const isOpen = was.page?.kind === 'logs' && was.page.model === model;
  const title = isOpen ? [] : [logTitle(model)];
  const tail = shownLog(is);
  if (tail?.model !== model) return title;
  const told = isOpen ? shownLog(was) : null;
  const upTo = told?.model === model ? told.dropped + told.lines.length : 0;
  const error = tail.error === null || tail.error === told?.error ? [] : [tail.error];
  return [...title, ...error, ...tail.lines.slice(Math.max(0, upTo - tail.dropped)).map(cleanText)];
}

function logTitle(model: ModelId): string {
  return `Log of ${model}`;
}

function selectionKey({ screen, lists }: ScreenView): string {
  return JSON.stringify([screen.focus, selectedId(lists, screen, screen.focus)]);
}
