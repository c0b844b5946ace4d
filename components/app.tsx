import { Box, Text, useInput, usePaste } from 'ink';
import { memo, useSyncExternalStore, type ReactNode } from 'react';
import type { FrameSource } from './frame-source.js';
import { keyNames } from './keys/key-names.js';

export interface AppProps {
  readonly frames: FrameSource;
  /** Another number makes every row be drawn again. */
  readonly epoch: number;
  readonly onKey: (name: string) => void;
  readonly onPaste: (text: string) => void;
}

/** The whole screen: rows that were made elsewhere, and the keys. */
export function App({ frames, epoch, onKey, onPaste }: AppProps): ReactNode {
  const rows = useSyncExternalStore(frames.subscribe, frames.rows);
  useInput((input, key) => {
    for (const name of keyNames(input, key)) onKey(name);
  });
  usePaste(onPaste);
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
