const ESC = '\u001b';
const BEL = '\u0007';

/** Terminals take no more at once: xterm and tmux stop at about 100 kB of base64, some earlier. */
const MOST_BYTES = 48 * 1024;

/** What a terminal is told to copy, and whether that is all of it. */
export interface Copy {
  readonly sequence: string;
  readonly whole: boolean;
}

/**
 * The sequence that has the terminal copy a text: OSC 52 with the selection `c` (xterm control sequences, "Manipulate
 * Selection Data"). tmux takes it for itself and passes it on where `set-clipboard` is `on`; else it ignores it, but
 * lets through what is wrapped for it in a DCS where `allow-passthrough` is `on` (tmux 3.3 and later; its FAQ, "clipboard").
 * Within tmux both are sent: copying twice does no harm.
 */
export function copySequence(text: string, env: Readonly<Record<string, string | undefined>>): Copy {
  const bytes = Buffer.from(text, 'utf8');
  const whole = bytes.length <= MOST_BYTES;
  // A character that was cut in two would come out as a stranger.
  const kept = whole
    ? text
    : bytes
        .subarray(0, MOST_BYTES)
        .toString('utf8')
        .replace(/\ufffd$/u, '');
  const plain = `${ESC}]52;c;${Buffer.from(kept, 'utf8').toString('base64')}${BEL}`;
  const inTmux = (env.TMUX ?? '') !== '' || /^(?:tmux|screen)/u.test(env.TERM ?? '');
  const wrapped = `${ESC}Ptmux;${plain.replaceAll(ESC, ESC + ESC)}${ESC}\\`;
  return { sequence: inTmux ? plain + wrapped : plain, whole };
}
