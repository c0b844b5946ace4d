import { describe, expect, it } from 'vitest';
import { chooseTheme, themeOf } from '../../components/theme/choose-theme.js';
import { chooseGlyphs } from '../../components/theme/glyphs.js';
import { PLAIN, type Theme } from '../../components/theme/tones.js';
import { paintRow } from '../../components/widgets/row.js';
import { THEMES } from '../../src/store/screen-store.js';
import { startFakeSupervisor } from '../support/fake-supervisor.js';
import { createScreenWorld } from '../support/screen-world.js';
import { busySnapshot } from '../support/snapshots.js';
import { startScreen } from '../support/terminal-screen.js';

// eslint-disable-next-line no-control-regex -- colours are what is looked for
const SGR = /\u001b\[([\d;]*)m/gu;

function codesOf(theme: Theme): ReadonlySet<number> {
  const all = Object.values(theme).flatMap(({ on, off }) => [...`${on}${off}`.matchAll(SGR)]);
  return new Set(all.flatMap(([, codes = '']) => codes.split(';').map(Number)));
}

describe('the themes', () => {
  it.each(THEMES)('%s says nothing that the words do not say', (name) => {
    const { rows } = createScreenWorld(busySnapshot()).frame();
    const painted = rows.map((row) => paintRow(row, themeOf(name, true)));
    expect(painted.join('')).toMatch(SGR);
    expect(painted.map((row) => row.replace(SGR, ''))).toEqual(rows.map((row) => paintRow(row, PLAIN)));
    expect(painted.join('\n')).toMatch(/LOADING[^]*FAILED/u);
  });

  it.each(THEMES)('%s switches off what it has switched on', (name) => {
    for (const [tone, { on, off }] of Object.entries(themeOf(name, true))) {
      expect([...off.matchAll(SGR)].length > 0, tone).toBe(on !== '');
    }
  });

  it('for light backgrounds have neither yellow nor bright colours, and mono has no colours at all', () => {
    const light = [...codesOf(themeOf('light', true))];
    expect(light.filter((code) => code === 33 || (code > 90 && code < 100))).toEqual([]);
    expect([...codesOf(themeOf('mono', true))].filter((code) => code >= 30 && code !== 39)).toEqual([]);
  });

  it('leave no codes at all where colours are not wanted', () => {
    for (const name of THEMES) expect(codesOf(themeOf(name, false)).size).toBe(0);
  });

  it('follow the background where the terminal tells it', () => {
    expect(chooseTheme('auto', {})).toBe('dark');
    expect(chooseTheme('auto', { COLORFGBG: '15;0' })).toBe('dark');
    expect(chooseTheme('auto', { COLORFGBG: '0;15' })).toBe('light');
    expect(chooseTheme('auto', { COLORFGBG: '0;default;7' })).toBe('light');
    expect(chooseTheme('mono', { COLORFGBG: '0;15' })).toBe('mono');
  });

  it('change by a key, which says so where there are no colours', () => {
    const world = createScreenWorld(busySnapshot(), { options: { hasColours: true } });
    world.press('T');
    expect(world.screen.getState().theme).toBe('light');
    expect(world.text()).toContain('theme: light');
    const plain = createScreenWorld(busySnapshot());
    plain.press('T');
    expect(plain.text()).toContain('has no colours');
  });

  it('can be chosen for a real terminal, and are changed there at once', async () => {
    await using supervisor = await startFakeSupervisor(busySnapshot());
    await using terminal = startScreen(supervisor, { env: { FORCE_COLOR: '1', SCREEN_THEME: 'light' } });
    await terminal.waitFor('LOADING');
    expect(terminal.output()).toContain('\u001b[34mLOADING');
    terminal.type('T');
    await terminal.waitFor('theme: mono');
    terminal.type('T');
    await terminal.waitFor('theme: dark');
    expect(terminal.output()).toContain('\u001b[36mLOADING');
  });
});

describe('the glyphs', () => {
  it('are Unicode where the locale says so, and what was asked for otherwise', () => {
    expect(chooseGlyphs('auto', { LANG: 'de_DE.UTF-8' }).name).toBe('unicode');
    expect(chooseGlyphs('auto', { LANG: 'de_DE.UTF-8', LC_ALL: 'C' }).name).toBe('ascii');
    expect(chooseGlyphs('auto', { LANG: 'de_DE.UTF-8', TERM: 'dumb' }).name).toBe('ascii');
    expect(chooseGlyphs('unicode', { LC_ALL: 'C' }).name).toBe('unicode');
    expect(chooseGlyphs('ascii', { LANG: 'C.UTF-8' }).name).toBe('ascii');
  });
});
