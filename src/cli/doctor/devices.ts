import { deviceFigures } from '../../../components/text/device-figures.js';
import { sizeText } from '../../../components/text/format.js';
import { createProbes } from '../../devices/combined-probe.js';
import { nvidiaOnBus } from '../../devices/nvidia/on-bus.js';
import type { DeviceActivity } from '../../devices/probe.js';
import type { DeviceReading, ProbeFailure } from '../../scheduler/events.js';
import type { DeviceName } from '../../scheduler/units.js';
import { adviceFor } from './driver-advice.js';
import type { Finding, Level } from './finding.js';
import { lookAtHiddenGpus } from './hidden-gpus.js';

/** One device as it was seen, for `--json`. */
export type SeenDevice = DeviceReading & { readonly activity: DeviceActivity | null };

export interface DevicesFound {
  readonly findings: readonly Finding[];
  readonly devices: readonly SeenDevice[];
  /** Why others could not be read. */
  readonly failures: readonly ProbeFailure[];
}

/** What becomes of models while a GPU cannot be read; see the admission of the scheduler. */
const MEANWHILE = 'nothing is loaded there until it can be: models that need it wait, and are refused after 30 s';
/** The same where no probe can be had at all. */
const WITHOUT_PROBE = 'what the engine says of its size counts; without that, models that need it are refused';

/**
 * Takes one real sample, just as serving does, and says what each device's probe knows and does not know.
 * @param engineDevices what the engine says it can use; null where it does not say
 */
export async function lookAtDevices(
  engineDevices: readonly DeviceName[] | null,
  pciDirectory = '/sys/bus/pci/devices',
): Promise<DevicesFound> {
  const probes = createProbes({ nvml: {}, nvidiaSmi: {}, drm: {}, engineDevices: () => engineDevices });
  try {
    const { sample, failures } = await probes.sample([]);
    const devices = sample.devices.map((device) => ({ ...device, activity: sample.activity?.[device.name] ?? null }));
    const gpus = devices.filter(({ kind }) => kind !== 'host');
    const there = [...gpus.map(({ name }) => name), ...failures.flatMap((failure) => failure.devices)];
    const hidden = await lookAtHiddenGpus(there);
    const isNone = gpus.length === 0 && failures.length === 0 && hidden === null;
    return {
      devices,
      failures,
      findings: [
        ...devices.flatMap(findingsOf),
        ...failures.map(({ devices: names, message, lasting = false }) => {
          const text =
            names.length === 0 ? message : `${message.replace(/\.$/u, '')}; ${lasting ? WITHOUT_PROBE : MEANWHILE}`;
          return found(names.join(', ') || 'probe', 'warn', text, adviceFor(message));
        }),
        ...(hidden === null ? [] : [hidden]),
        ...(isNone ? [noGpu(probes.absent(), pciDirectory)] : []),
        ...(gpus.length > 0 && engineDevices?.length === 0 ? [blindEngine(gpus)] : []),
        ...probes.notes().map((note) => found('probe', 'warn', note, null)),
      ],
    };
  } finally {
    probes.close();
  }
}

function findingsOf(device: SeenDevice): readonly Finding[] {
  const { name, description, usedBytes, source = '', remark, foreign = [], activity } = device;
  const free = device.totalBytes - usedBytes;
  const figures = deviceFigures({
    ...device,
    heldBytes: 0,
    reservedBytes: 0,
    externalBytes: usedBytes,
    freeBytes: free,
  });
  const others = foreign.map((process) => `${process.name || 'pid'} ${process.pid} ${sizeText(process.bytes)}`);
  const text = [
    `${description}: ${figures.external} of ${figures.total} ${figures.unit} in use, as ${source} says`,
    ...(activity === null ? [] : sayActivity(activity)),
    ...(others.length === 0 ? [] : [`used by ${others.join(', ')}`]),
  ].join('; ');
  const seen = found(name, 'ok', text, null);
  if (remark === undefined) return [seen];
  return [seen, found(name, device.attributed ? 'ok' : 'warn', remark, attributionFix(device))];
}

function sayActivity({ utilizationPercent, temperatureCelsius, powerMilliwatts }: DeviceActivity): readonly string[] {
  const said = [
    ...(utilizationPercent === null ? [] : [`${Math.round(utilizationPercent)}% busy`]),
    ...(temperatureCelsius === null ? [] : [`${Math.round(temperatureCelsius)} °C`]),
    ...(powerMilliwatts === null ? [] : [`${Math.round(powerMilliwatts / 1000)} W`]),
  ];
  return said.length === 0 ? [] : [said.join(', ')];
}

function attributionFix({ remark = '' }: DeviceReading): string | null {
  if (remark.includes('container')) {
    return "share the machine's processes with this container (docker run --pid=host); it works without, by claims alone";
  }
  return null;
}

/** Nothing to ask: why, and whether there should be something. */
function noGpu(absent: readonly string[], pciDirectory: string): Finding {
  const [card] = nvidiaOnBus(pciDirectory);
  const why = absent.length === 0 ? '' : ` (${absent.join('; ')})`;
  if (card !== undefined) {
    const text = `there is an NVIDIA GPU at ${card.address}, but no driver to ask${why}; models run on the processor`;
    return found('GPU', 'warn', text, "install NVIDIA's driver, or give this container the GPU (--gpus all)");
  }
  return found('GPU', 'ok', `none was found${why}; models run on the processor`, null);
}

function blindEngine(gpus: readonly DeviceReading[]): Finding {
  const names = gpus.map(({ name }) => name).join(', ');
  const text = `the driver has ${names}, but llama-server sees no GPU: models run on the processor`;
  return found('GPU', 'warn', text, 'use a llama-server that is built for it (CUDA, Vulkan, ROCm)');
}

function found(name: string, level: Level, text: string, fix: string | null): Finding {
  return { area: 'devices', name, level, text, fix };
}
