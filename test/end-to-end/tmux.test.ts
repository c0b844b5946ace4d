import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { LAUNCHER, temporaryDirectory } from '../support/serving.js';
import { until } from '../support/until.js';
import { simulated } from '../support/preset.js';

/** A tmux server of its own, so that nobody's sessions are touched. */
class Tmux {
  readonly directory: string = temporaryDirectory();
  readonly #socket = join(this.directory, 'tmux');

  run(...args: readonly string[]): string {
    const env = {
      ...process.env,
      TMUX: '',
      XDG_RUNTIME_DIR: this.directory,
      XDG_STATE_HOME: this.directory,
      LC_ALL: 'C.UTF-8',
    };
    return execFileSync('tmux', ['-S', this.#socket, '-f', '/dev/null', ...args], { encoding: 'utf8', env });
  }

  start(columns: number, rows: number): void {
    this.run('new-session', '-d', '-x', String(columns), '-y', String(rows), 'bash --norc --noprofile');
  }

  screen(): string {
    return this.run('capture-pane', '-p');
  }

  type(text: string): void {
    this.run('send-keys', '-l', text);
  }

  enter(command: string): void {
    this.type(command);
    this.run('send-keys', 'Enter');
  }

  async shows(wanted: string | RegExp): Promise<string> {
    return until(`the pane shows ${String(wanted)}`, () => {
      const screen = this.screen();
      return (typeof wanted === 'string' ? screen.includes(wanted) : wanted.test(screen)) && screen;
    });
  }

  end(): void {
    this.run('kill-server');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

describe('in a real tmux', () => {
  let tmux: Tmux;
  afterEach(() => tmux.end());

  it.each([
    { columns: 140, rows: 40, panes: ['Models', 'Queue', 'Decisions', '?:help'] },
    { columns: 80, rows: 24, panes: ['Models', 'Decisions'] },
    { columns: 60, rows: 20, panes: ['Models'] },
  ])('$columns × $rows shows what matters, and leaving restores the terminal', async ({ columns, rows, panes }) => {
    tmux = new Tmux();
    tmux.start(columns, rows);
    const preset = simulated('CUDA0=24GiB,CUDA1=8GiB', { alpha: { 'sim-size': '4GiB', 'sim-load-seconds': 0.2 } });
    tmux.enter(`cd ${tmux.directory}; stty -a > before; clear`);
    tmux.enter(`${process.execPath} ${LAUNCHER} --port 0 ${preset.join(' ')}`);
    await tmux.shows('alpha');
    tmux.type('l');
    const screen = await tmux.shows('READY');
    for (const pane of panes) expect(screen).toContain(pane);
    expect(screen).toMatch(/CUDA0.*4\.0/u);
    expect(screen).toContain('CUDA1');
    for (const line of screen.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);

    tmux.type('q');
    await tmux.shows('detach');
    tmux.type('s');
    await tmux.shows(/stopped/u);
    tmux.enter('stty -a > after; cmp before after && echo the same modes');
    await tmux.shows(/^the same modes/mu);
    expect(tmux.run('display-message', '-p', '#{alternate_on} #{cursor_flag}').trim()).toBe('0 1');
  });
});
