import { describe, expect, it } from 'vitest';
import { NoticeBoard } from '../../src/supervisor/notice-board.js';
import { SAMPLE_SUPERVISOR } from '../support/snapshots.js';

interface Failure {
  readonly devices: readonly string[];
  readonly message: string;
}

const LOST: Failure = { devices: ['CUDA0', 'CUDA1'], message: 'nvml: Unknown Error' };

/** A board with a clock that is set by hand, in seconds. */
class Board {
  #seconds = 0;
  readonly told: string[] = [];
  readonly board: NoticeBoard;

  constructor(...notices: readonly string[]) {
    this.board = new NoticeBoard(
      { ...SAMPLE_SUPERVISOR, notices },
      () => this.#seconds * 1000,
      () => undefined,
    );
    this.board.onNotice((notice) => this.told.push(notice));
  }

  at(seconds: number, ...failures: readonly Failure[]): this {
    this.#seconds = seconds;
    this.board.takeDeviceFailures(failures);
    return this;
  }

  /** Each notice with the second it was said at, and whether it says that something is well again. */
  get shown(): readonly (readonly [string, number, boolean])[] {
    const { notices, noticeMarks = [] } = this.board.info;
    expect(noticeMarks).toHaveLength(notices.length);
    return notices.map((text, index) => {
      const { at, over } = noticeMarks[index] ?? { at: NaN, over: false };
      return [text, at / 1000, over];
    });
  }
}

describe('what is said of devices that could not be read', () => {
  it('is which they are, for how long it was so, and what the driver had said', () => {
    const one = new Board('an open bind').at(5, LOST);
    expect(one.shown).toEqual([
      ['an open bind', 0, false],
      ['nvml: Unknown Error', 5, false],
    ]);
    expect(one.at(17).shown).toEqual([
      ['an open bind', 0, false],
      ['nvml: CUDA0 and CUDA1 are read again after 12s; it had said: Unknown Error', 17, true],
    ]);
  });

  it('counts from the first word on, and keeps the last', () => {
    const hangs = { ...LOST, message: 'nvml: no answer yet' };
    const one = new Board().at(5, { devices: [], message: 'nvml: Unknown Error' }).at(8, LOST).at(10, hangs).at(25);
    expect(one.shown.map(([text]) => text)).toEqual([
      'nvml: CUDA0 and CUDA1 are read again after 20s; it had said: no answer yet',
    ]);
    expect(one.told).toEqual(['nvml: Unknown Error', 'nvml: no answer yet', one.shown[0]?.[0]]);
  });

  it('is said in one sentence of cards that each had words of their own, where these differ by the card alone', () => {
    const lost = (index: number): Failure => {
      return {
        devices: [`CUDA${index}`],
        message: `nvml: RTX 3090 (00000000:0${index + 1}:00.0): GPU is lost (code 15)`,
      };
    };
    const one = new Board().at(1, lost(0), lost(1)).at(3, lost(0), lost(1), lost(2)).at(13);
    expect(one.shown.map(([text]) => text)).toEqual([
      'nvml: CUDA0 and CUDA1 are read again after 12s; it had said: GPU is lost (code 15)',
      'nvml: CUDA2 is read again after 10s; it had said: GPU is lost (code 15)',
    ]);
  });

  it('is each that can be read again, while others cannot', () => {
    const one = new Board().at(1, LOST).at(4, { ...LOST, devices: ['CUDA1'] });
    expect(one.shown.map(([text, , over]) => [text, over])).toEqual([
      ['nvml: Unknown Error', false],
      ['nvml: CUDA0 is read again after 3s; it had said: Unknown Error', true],
    ]);
    expect(one.at(9).shown.map(([text]) => text)).toEqual([
      'nvml: CUDA0 is read again after 3s; it had said: Unknown Error',
      'nvml: CUDA1 is read again after 8s; it had said: Unknown Error',
    ]);
  });

  it('is nothing of one that another probe cannot read either', () => {
    const one = new Board().at(1, LOST).at(4, { ...LOST, message: 'nvidia-smi: it is upset' });
    expect(one.shown).toEqual([['nvidia-smi: it is upset', 4, false]]);
  });

  it('is shown once of a driver that fails now and then, and told every time', () => {
    const one = new Board();
    for (const start of [10, 20, 30, 40]) one.at(start, LOST).at(start + 2);
    expect(one.shown).toEqual([
      ['nvml: CUDA0 and CUDA1 are read again after 2s; it had said: Unknown Error', 42, true],
    ]);
    expect(one.told).toHaveLength(8);
  });

  it('is said of a probe that names no device too, in whatever words', () => {
    const one = new Board().at(1, { devices: [], message: 'host: no /proc' }, { devices: [], message: 'all is lost' });
    expect(one.at(3).shown.map(([text]) => text)).toEqual([
      'host: read again after 2s; it had said: no /proc',
      'devices: read again after 2s; it had said: all is lost',
    ]);
  });
});
