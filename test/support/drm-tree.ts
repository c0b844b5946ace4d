import type { Tree } from './temp-tree.js';

/** What the kernel shows of one card. */
export interface DrmCardFiles {
  readonly card: number;
  readonly driver: 'amdgpu' | 'i915' | 'xe';
  /** e.g. `0000:03:00.0` */
  readonly pci: string;
  readonly pciId?: string;
  /** Files of the device, e.g. `mem_info_vram_total`. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Files of the card itself, e.g. `lmem_total_bytes`. */
  readonly cardFiles?: Readonly<Record<string, string>>;
}

/** /sys as it looks with these cards. */
export function drmTree(...cards: readonly DrmCardFiles[]): Tree {
  return Object.fromEntries(
    cards.flatMap(({ card, driver, pci, pciId = '1002:744C', files = {}, cardFiles = {} }) => {
      const device = `sys/class/drm/card${card}/device`;
      const event = `DRIVER=${driver}\nPCI_CLASS=30000\nPCI_ID=${pciId}\nPCI_SLOT_NAME=${pci}\n`;
      return [
        [`sys/class/drm/card${card}-DP-1/status`, 'connected\n'],
        [`${device}/uevent`, event],
        ...Object.entries(files).map(([name, content]) => [`${device}/${name}`, content] as const),
        ...Object.entries(cardFiles).map(([name, content]) => [`sys/class/drm/card${card}/${name}`, content] as const),
      ];
    }),
  );
}

/** A node of ROCm's topology; `location` is bus, device and function of the PCI address. */
export function kfdNode(node: number, gpuId: number, location: number, uniqueId = '0'): Tree {
  const directory = `sys/class/kfd/kfd/topology/nodes/${node}`;
  return {
    [`${directory}/gpu_id`]: `${gpuId}\n`,
    [`${directory}/properties`]: `cpu_cores_count ${gpuId === 0 ? 16 : 0}\nsimd_count ${gpuId === 0 ? 0 : 192}\nlocation_id ${location}\ndomain 0\nunique_id ${uniqueId}\n`,
  };
}

/** A file of /proc/PID/fdinfo of one client of a GPU. */
export function fdinfo(driver: string, pci: string, client: number, ...lines: readonly string[]): string {
  return `pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t685\ndrm-driver:\t${driver}\ndrm-client-id:\t${client}\ndrm-pdev:\t${pci}\n${lines.join('\n')}\n`;
}

/** The head of amdgpu's `gpu_metrics`; revision 1 is a card's, 2 and 3 are those of a processor with graphics. */
export function gpuMetrics(revision: number): Buffer {
  return Buffer.from([120, 0, revision, 3, 0, 0, 0, 0]);
}
