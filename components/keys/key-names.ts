import type { Key } from 'ink';

/**
 * The names of the keys in one piece of input, in order. Terminals send what was typed quickly as one piece, and
 * every key in it counts. Printable keys are called by themselves (`j`, `U`, `?`), a blank `space`, the others
 * `up`, `pagedown`, `return`, `escape`, `tab`, `shift+tab`, `backspace`, `ctrl+l`.
 */
export function keyNames(input: string, key: Key): string[] {
  const special = specialName(key);
  if (special !== null) return [special];
  if (key.ctrl) return input === '' ? [] : [`ctrl+${input}`];
  const names = Array.from(input, characterName);
  // Esc and the next key that come in one piece look like Alt with that key; no command uses Alt.
  return key.meta ? ['escape', ...names] : names;
}

function specialName(key: Key): string | null {
  if (key.upArrow) return 'up';
  if (key.downArrow) return 'down';
  if (key.leftArrow) return 'left';
  if (key.rightArrow) return 'right';
  if (key.pageUp) return 'pageup';
  if (key.pageDown) return 'pagedown';
  if (key.home) return 'home';
  if (key.end) return 'end';
  if (key.return) return 'return';
  if (key.escape) return 'escape';
  if (key.tab) return key.shift ? 'shift+tab' : 'tab';
  if (key.backspace || key.delete) return 'backspace';
  return null;
}

function characterName(character: string): string {
  switch (character) {
    case ' ':
      return 'space';
    case '\r':
    case '\n':
      return 'return';
    case '\t':
      return 'tab';
    case '\b':
    case '\u007f':
      return 'backspace';
    case '\u001b':
      return 'escape';
    default: {
      const code = character.charCodeAt(0);
      return code < 0x20 ? `ctrl+${String.fromCharCode(code + 0x60)}` : character;
    }
  }
}

/** What a key types into a line, or null when it types nothing. */
export function typedText(name: string): string | null {
  if (name === 'space') return ' ';
  return Array.from(name).length === 1 ? name : null;
}

const LABELS: Readonly<Record<string, string>> = {
  return: 'Enter',
  escape: 'Esc',
  tab: 'Tab',
  'shift+tab': 'Shift-Tab',
  space: 'space',
  pageup: 'PgUp',
  pagedown: 'PgDn',
  home: 'Home',
  end: 'End',
  up: 'Up',
  down: 'Down',
};

/** How a key is written for people. */
export function keyLabel(name: string): string {
  if (name.startsWith('ctrl+')) return `Ctrl-${name.slice(5).toUpperCase()}`;
  return LABELS[name] ?? name;
}
