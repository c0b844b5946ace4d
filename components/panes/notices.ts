import type { NoticeMark } from '../../src/client/types.js';
import { clockText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { section } from './ledger.js';
import type { PageContent } from './page-content.js';

/** Everything that the user should know, newest first; a lost connection before all else, and supervisors that were at last. */
export function noticesPage(view: ScreenView): PageContent {
  const { notices, noticeMarks } = view.snapshot.supervisor;
  const texts = notices.map((notice, index) => noticeText(notice, noticeMarks?.[index]));
  const said = texts.toReversed().flatMap((text, index) => [...(index === 0 ? [] : [[]]), text]);
  const earlier = view.options.earlierEnds.toReversed().map((end): Row => [span(end)]);
  const connection = connectionRows(view);
  const count = notices.length + (connection.length > 0 ? 1 : 0);
  const parts = [connection, said, section('Before', earlier).slice(1)].filter(({ length }) => length > 0);
  return {
    title: `Notices (${count}${notices.length > 1 ? ', newest first' : ''})`,
    rows:
      parts.length === 0
        ? [[span('there is nothing that you should know', 'dim')]]
        : parts.flatMap((part, index) => [...(index === 0 ? [] : [[]]), ...part]),
  };
}

/** When it was said, where that is told; and of `/etc/models.ini:3: ...` the place apart from what is said of it. */
function noticeText(notice: string, mark?: NoticeMark): Row {
  const place = /^(?:\/|[A-Za-z]:\\|\.)[^\n]*?:\d+: /u.exec(notice)?.[0] ?? '';
  return [
    ...(mark === undefined ? [] : [span(`${clockText(mark.at)} `, 'dim')]),
    ...(place === '' ? [] : [span(place, 'accent')]),
    span(notice.slice(place.length), mark?.over === true ? 'plain' : 'warn'),
  ];
}

/** Since when nobody answers, why, and what can be done about it. */
function connectionRows({ connection, ended, options }: ScreenView): Row[] {
  if (connection.state !== 'lost') return [];
  const { source, program, readOnly } = options;
  const start =
    ended !== null
      ? `Its log is ${ended.log}${readOnly ? '' : '; a starts it again'}.`
      : source.kind === 'router' || !source.can.has('stop')
        ? 'Whether it still runs is to be seen on its machine.'
        : `If it has ended, ${program} starts it again, and this screen finds it by itself.`;
  const rows: Row[] = [
    [span(`since ${clockText(connection.since)}: ${connection.reason}`, 'bad')],
    [span('This screen tries again every few seconds, and shows meanwhile what was known last.')],
    [span(`${start} q leaves.`)],
  ];
  return section('No connection', rows).slice(1);
}
