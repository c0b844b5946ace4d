import type { ThemeName } from '../../src/store/screen-store.js';
import { DARK, LIGHT, MONO, PLAIN, type Theme } from './tones.js';

export type ThemeChoice = ThemeName | 'auto';

/**
 * The theme to begin with. `auto` is `light` where the terminal says that its background is (COLORFGBG, as rxvt, Konsole
 * and others set it: foreground and background of its palette, with semicolons between), else `dark`.
 */
export function chooseTheme(choice: ThemeChoice, env: Readonly<Record<string, string | undefined>>): ThemeName {
  if (choice !== 'auto') return choice;
  const background = /;(\d+)$/.exec(env.COLORFGBG ?? '')?.[1];
  return background === '7' || background === '15' ? 'light' : 'dark';
}

/** How tones look. Where colours are not wanted, nothing is left of any theme. */
export function themeOf(name: ThemeName, hasColours: boolean): Theme {
  if (!hasColours) return PLAIN;
  switch (name) {
    case 'dark':
      return DARK;
    case 'light':
      return LIGHT;
    case 'mono':
      return MONO;
  }
}
