import { describe, expect, it } from 'vitest';
import { clockText } from '../../components/text/format.js';
import { STOCK_ROUTER } from '../../src/client/sources.js';
import type { Snapshot } from '../../src/client/types.js';
import { SAMPLE_SUPERVISOR, SAMPLE_TIME, busySnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

const told = (...notices: string[]): Snapshot => ({
  ...busySnapshot(),
  supervisor: { ...SAMPLE_SUPERVISOR, notices },
});

/** The page as one line of words. */
function notices(world: ScreenWorld): string {
  world.press('i');
  return world.text().replace(/\s+/g, ' ');
}

describe('what a user should know', () => {
  it('is counted in the title, shown as far as there is room, and all of it on a page of its own', () => {
    const long = `/etc/models.ini:3: ${'a surprise '.repeat(20)}at its end`;
    const world = createScreenWorld(told('the oldest', long, 'the newest'));
    expect(world.lines()[0]).toContain('3 notices');
    expect(world.lines()[1]).toMatch(/^ ! the newest +i shows all 3$/);
    const text = notices(world);
    expect(text).toContain('Notices (3, newest first)');
    expect(text).toMatch(/the newest .*\/etc\/models\.ini:3: a surprise .*at its end .*the oldest/);
  });

  it('stays after it was looked at', () => {
    const world = createScreenWorld(told('one', 'two'));
    world.press('i', 'escape');
    expect(world.lines()[1]).toContain('! two');
    expect(world.lines()[0]).toContain('2 notices');
  });

  it('offers the page for one that is cut, and not for one that is there whole', () => {
    expect(createScreenWorld(told('short')).lines()[1]).toBe(' ! short');
    const cut = createScreenWorld(told('long '.repeat(40)));
    expect(cut.lines()[1]).toMatch(/\.\. i shows all of it$/);
  });

  it('is no alarm where it is that something is well again, and says when it was said', () => {
    const marked = (...overs: readonly boolean[]): Snapshot => ({
      ...busySnapshot(),
      supervisor: {
        ...SAMPLE_SUPERVISOR,
        notices: overs.map((over, index) => `${over ? 'well again' : 'amiss'} ${index}`),
        noticeMarks: overs.map((over, index) => ({ at: SAMPLE_TIME + index * 1000, over })),
      },
    });
    const mixed = createScreenWorld(marked(false, true));
    expect(mixed.lines()[1]).toMatch(/^ ! amiss 0 +i shows all 2$/);
    const [first, second] = [SAMPLE_TIME, SAMPLE_TIME + 1000].map(clockText);
    expect(notices(mixed)).toMatch(new RegExp(`newest first\\) =.* ${second} well again 1 ${first} amiss 0`, 'u'));
    const well = createScreenWorld(marked(true));
    expect(well.lines()[0]).toContain('1 notice');
    expect(well.lines().join('\n')).not.toContain('!');
    expect(well.lines().join('\n')).not.toContain('well again');
  });

  it('is said to be nothing where it is nothing, and has a word in the palette', () => {
    const world = createScreenWorld(busySnapshot());
    world.press(':', ...Array.from('notices'), 'return');
    expect(world.text()).toContain('there is nothing that you should know');
  });
});

describe('a connection that is lost', () => {
  it('is told with the moment it was lost at, however often it is tried since', () => {
    const world = createScreenWorld(busySnapshot());
    world.receive({ type: 'disconnected', reason: 'It broke off.' });
    const [, first] = world.lines();
    expect(first).toMatch(
      /! no connection since \d\d:\d\d:\d\d, trying again; if it has ended, llm-tui starts it: It broke off\. +i tells more/,
    );
    world.pass(60_000);
    world.receive({ type: 'disconnected', reason: 'Nobody listens.' });
    expect(world.lines()[1]?.slice(0, 33)).toBe(first?.slice(0, 33));
    expect(world.lines()[1]).toContain('Nobody listens.');
  });

  it('has what can be done about it on the page of notices', () => {
    const own = createScreenWorld(busySnapshot());
    own.receive({ type: 'disconnected', reason: 'It broke off.' });
    expect(notices(own)).toContain('Notices (1)');
    expect(own.text().replace(/\s+/g, ' ')).toMatch(
      /No connection since .*: It broke off\. .* If it has ended, llm-tui starts it again/,
    );
    const far = createScreenWorld(busySnapshot(), { options: { source: STOCK_ROUTER } });
    far.receive({ type: 'disconnected', reason: 'It broke off.' });
    expect(notices(far)).toContain('Whether it still runs is to be seen on its machine. q leaves.');
  });

  it('is another thing than the end of the supervisor of this screen', () => {
    const world = createScreenWorld(busySnapshot(), { options: { ownsSupervisor: true } });
    world.press('a');
    expect(world.text()).toContain('start-again does nothing');
    world.receive({ type: 'ended', end: { at: SAMPLE_TIME, exitCode: 3, signal: null, log: '/state/serve.log' } });
    world.receive({ type: 'disconnected', reason: 'It broke off.' });
    expect(world.lines()[1]).toMatch(/! the supervisor ended at .* \(exit code 3\); its log: \/state\/serve\.log/);
    expect(notices(world)).toContain('Its log is /state/serve.log; a starts it again. q leaves.');
    world.press('a');
    expect(world.answers).toEqual(['start-again']);
  });

  it('is told more of from the question itself, which is closed by that', () => {
    const world = createScreenWorld(busySnapshot());
    world.receive({ type: 'ended', end: { at: SAMPLE_TIME, exitCode: 3, signal: null, log: '/state/serve.log' } });
    world.receive({ type: 'disconnected', reason: 'It broke off.' });
    world.screen.setState({ dialog: { kind: 'ended' } });
    expect(world.text()).toContain('i tell more');
    world.press('i');
    expect(world.answers).toEqual(['notices']);
    expect(world.view().screen.dialog).toBeNull();
  });

  it('that ended before this one was started is told last', () => {
    const earlierEnds = ['The first ended.', 'The second ended.'];
    const world = createScreenWorld(told('one'), { options: { earlierEnds } });
    expect(notices(world)).toMatch(/Notices \(1\) .* one Before The second ended\. The first ended\./);
    const quiet = createScreenWorld(busySnapshot(), { options: { earlierEnds } });
    expect(notices(quiet)).not.toContain('there is nothing');
  });

  it('is no end where the supervisor was told to stop', () => {
    const world = createScreenWorld({ ...busySnapshot(), shuttingDown: true });
    world.receive({ type: 'ended', end: { at: SAMPLE_TIME, exitCode: 0, signal: null, log: '/state/serve.log' } });
    world.receive({ type: 'disconnected', reason: 'It broke off.' });
    expect(world.view().ended).toBeNull();
  });
});
