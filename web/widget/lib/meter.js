// From numbers to what is shown of them. Nothing here is ever NaN.

/**
 * @typedef {import('../rtc-token-usage.d.ts').Band} Band
 * @typedef {import('../rtc-token-usage.d.ts').UsageDetails} UsageDetails
 * @typedef {import('../rtc-token-usage.d.ts').ContextPart} ContextPart
 */

/** What the ring is a part of while no threshold is known. */
const FALLBACK_THRESHOLD = 1_000_000;

/**
 * How much of the ring is filled, in percent.
 * @param {number} estimatedNext
 * @param {number} threshold
 */
export function ringPercent(estimatedNext, threshold) {
  const whole = threshold > 0 ? threshold : FALLBACK_THRESHOLD;
  return Math.max(0, Math.min(100, estimatedNext / whole * 100));
}

/**
 * The ring's class.
 * @param {number} percent
 */
export function ringClass(percent) {
  if (percent >= 70) return 'danger';
  return percent >= 50 ? 'warning' : '';
}

/**
 * The band that the progress lies in, which decides the colour.
 * @param {number} progress in percent
 * @returns {Band}
 */
export function bandOf(progress) {
  if (progress > 100) return 'over';
  if (progress >= 80) return 'high';
  return progress >= 50 ? 'mid' : 'low';
}

/**
 * The progress in whole percent. It is never rounded into another band, nor is 100 said of
 * more or less than that.
 * @param {number} progress
 */
export function wholePercent(progress) {
  const whole = Math.round(progress);
  if (whole > progress && (whole === 50 || whole === 80 || whole === 100)) return whole - 1;
  return whole < progress && whole === 100 ? 101 : whole;
}

/**
 * Whether a compaction is so near that it is announced.
 * @param {number} rounds
 */
export function isNear(rounds) { return rounds >= 0 && rounds <= 3; }

/**
 * The share of the input that was read from the provider's cache, 0 to 1; undefined while
 * there was no input. All of it only if it was really all.
 * @param {UsageDetails | undefined} details
 */
export function hitRate(details) {
  const { cachedRead: read = 0, input = 0, cachedWrite = 0 } = details ?? {};
  const all = read + input + cachedWrite;
  if (all <= 0) return undefined;
  return read === all ? 1 : Math.min(0.99, read / all);
}

/**
 * The segments of the bar: name, tokens and width in percent, in a fixed order, so that
 * none jumps when its neighbours grow. The bar is as long as the threshold, or as what is
 * there, if that is more; mark is where the threshold lies then.
 * @param {ContextPart[]} parts
 * @param {number} threshold
 */
export function segments(parts, threshold) {
  const shown = parts.filter((part) => part.tokens > 0).sort((a, b) => place(a.name) - place(b.name));
  const sum = shown.reduce((total, part) => total + part.tokens, 0);
  const whole = Math.max(sum, threshold, 1);
  return {
    sum,
    mark: sum > threshold && threshold > 0 ? threshold / whole * 100 : undefined,
    segments: shown.map((part) => ({ ...part, width: part.tokens / whole * 100 })),
  };
}

/** The parts of a request, in the order in which the model reads them. */
const ORDER = [
  'system', 'tools', 'agent_prompt', 'todo_list', 'session_memory', 'user_memory', 'attachments', 'outdated_attachments',
  'summary', 'pinned_request', 'messages', 'thinking', 'open_round',
];

/** @param {string} name */
function place(name) {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
}
