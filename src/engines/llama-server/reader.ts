import { readMemoryTable, sumPerDevice } from '../memory-table.js';
import type { OutputReader } from '../engine.js';
import type { ChildMemory, ChildMessage } from '../messages.js';
import { parseProtocolLine } from '../protocol.js';
import { LogMemory } from './log-memory.js';
import { readBreakdown, readMemoryLine, unwrapLogLine } from './memory-lines.js';

/**
 * Reads the output of one llama-server child. What it says of its memory is looked for in three places, the best first:
 * in its `ready` message; in the `fit_memory_breakdown` event of its JSON log; and in the lines that llama.cpp logs for
 * each buffer. Lines of the log stay lines of the log. A child writes them before it says that it is ready, and both
 * pipes are read in the order in which they were written to.
 */
export function createLlamaServerReader(): OutputReader {
  const memory = new LogMemory();
  let breakdown: ChildMemory | null = null;

  const remember = (line: string): void => {
    const rows = readBreakdown(line);
    if (rows !== null) breakdown = readMemoryTable({ devices: rows }) ?? breakdown;
    else {
      const told = readMemoryLine(unwrapLogLine(line));
      if (told !== null) memory.take(told);
    }
  };
  const complete = (message: ChildMessage): ChildMessage => {
    switch (message.type) {
      case 'ready': {
        if (message.memory !== undefined) return message;
        const { contextTokens } = message;
        const table = breakdown === null ? memory.table(contextTokens) : { ...breakdown, n_ctx: contextTokens ?? 0 };
        return table === null ? message : { ...message, effective: sumPerDevice(table), memory: table };
      }
      case 'sleeping':
        memory.clear();
        breakdown = null;
        return message;
      case 'loading':
      case 'measured':
        return message;
    }
  };

  return {
    read(line, stream) {
      const message = stream === 'stdout' ? parseProtocolLine(line) : null;
      if (message !== null) return complete(message);
      remember(line);
      return null;
    },
  };
}
