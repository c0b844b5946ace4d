/** What helps against what drivers say, most telling first. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/version mismatch/iu, 'the driver was updated while it was in use: reboot, or unload and load its kernel modules'],
  [
    /driver not loaded|couldn't communicate|could not communicate/iu,
    'load the driver (modprobe nvidia), or install it for this kernel',
  ],
  [/lost|fallen off/iu, 'the GPU has dropped off the bus: reboot, and look at its power and its slot; dmesg says more'],
  [/permission/iu, 'let this user open the devices (/dev/nvidia*, or the groups video and render)'],
  [
    /cannot be asked/iu,
    "give this container the driver's utilities (NVIDIA_DRIVER_CAPABILITIES=compute,utility), or install nvidia-smi; --admission proceed loads without knowing what is free",
  ],
  [/MIG mode/u, 'name a slice in CUDA_VISIBLE_DEVICES'],
  [
    /hang|does not answer|did not answer|no answer/iu,
    'if it stays like this, look into dmesg for Xid messages, and reboot',
  ],
  [/no devices? (?:were )?found/iu, 'look whether lspci shows the GPU, and whether this container was given it'],
];

/** What to do about what a driver says. */
export function adviceFor(words: string): string {
  return ADVICE.find(([pattern]) => pattern.test(words))?.[1] ?? 'run nvidia-smi, and look into dmesg';
}
