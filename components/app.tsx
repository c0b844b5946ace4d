import { Box, Text, useApp, useInput, usePaste } from 'ink';
import { memo, useEffect, useSyncExternalStore, type ReactNode } from 'react';
import type { FrameSource } from './frame-source.js';
import { keyNames } from './keys/key-names.js';
import type { HandOver } from './suspension.js';

export interface AppProps {
  readonly frames: FrameSource;
  /** Another number makes every row be drawn again. */
  readonly epoch: number;
  readonly onKey: (name: string) => void;
  readonly onPaste: (text: string) => void;
  /** Told how the terminal can be given away for a while. */
  readonly onHandOver: (handOver: HandOver) => void;
}

/** The whole screen: rows that were made elsewhere, and the keys. */
export function App({ frames, epoch, onKey, onPaste, onHandOver }: AppProps): ReactNode {
  const rows = useSyncExternalStore(frames.subscribe, frames.rows);
  useInput((input, key) => {
    for (const name of keyNames(input, key)) onKey(name);
  });
  usePaste(onPaste);
  const { suspendTerminal } = useApp();
  useEffect(() => onHandOver((run) => suspendTerminal(run)), [onHandOver, suspendTerminal]);
  return (
    <Box flexDirection="column" key={epoch}>
      {rows.map((row, index) => (
        // A row is its place on the screen.
        <Line key={index} text={row} />
      ))}
    </Box>
  );
}

const Line = memo(function Line({ text }: { readonly text: string }): ReactNode {
  return <Text wrap="truncate">{text}</Text>;
});
