import type { ProbeSample } from '../../src/devices/probe.js';
import { MIB } from '../../src/scheduler/units.js';

/** What was read of devices, a line for each, with MiB; then what ours hold; then what could not be read. */
export function deviceLines({ devices, instances, failures = [], activity = {} }: ProbeSample): readonly string[] {
  const inMib = (bytes: number): string => String(bytes / MIB);
  return [
    ...devices.map(({ name, description, usedBytes, totalBytes, attributed, remark = '', foreign = [] }) => {
      const others = attributed
        ? `others ${foreign.map(({ bytes }) => inMib(bytes)).join(' ') || 'none'}`
        : `not attributed: ${remark}`;
      const { utilizationPercent, temperatureCelsius, powerMilliwatts } = activity[name] ?? {};
      const busy = activity[name] && `${utilizationPercent} %, ${temperatureCelsius} C, ${powerMilliwatts} mW`;
      return [`${name} ${description} ${inMib(usedBytes)}/${inMib(totalBytes)}`, others, ...(busy ? [busy] : [])].join(
        ', ',
      );
    }),
    ...instances.map(({ model, resident }) => {
      return `${model}: ${Object.entries(resident)
        .map(([device, bytes]) => `${device} ${inMib(bytes)}`)
        .join(', ')}`;
    }),
    ...failures.map(({ devices: names, message }) => `${names.join(', ')} unknown: ${message}`),
  ];
}
