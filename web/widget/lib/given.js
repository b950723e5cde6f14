// What pages give, made into what can be shown: they may give anything.

/**
 * @typedef {import('../rtc-token-usage.d.ts').UsageDetails} UsageDetails
 * @typedef {import('../rtc-token-usage.d.ts').ContextPart} ContextPart
 */

const DETAILS = /** @type {const} */ (['input', 'output', 'cachedRead', 'cachedWrite', 'reasoning']);

/**
 * An amount: a finite number that is not negative.
 * @template F
 * @param {unknown} value
 * @param {F} fallback what stands for everything else
 * @returns {number | F}
 */
export function amount(value, fallback) {
  if (typeof value !== 'number' && typeof value !== 'bigint' && (typeof value !== 'string' || value.trim() === '')) return fallback;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 ? number : fallback;
}

/**
 * @param {unknown} value
 * @returns {string}
 */
export function text(value) {
  try {
    return String(value);
  } catch { // an object may have no text
    return '';
  }
}

/**
 * Those of the details that are amounts.
 * @param {any} value
 * @returns {UsageDetails | undefined}
 */
export function usageDetails(value) {
  if (typeof value !== 'object' || value === null) return undefined;
  /** @type {UsageDetails} */
  const details = {};
  for (const name of DETAILS) {
    const tokens = amount(value[name], undefined);
    if (tokens !== undefined) details[name] = tokens;
  }
  return details;
}

/**
 * Those of the parts that have a name and an amount.
 * @param {unknown} value
 * @returns {ContextPart[]}
 */
export function contextParts(value) {
  if (!Array.isArray(value)) return [];
  /** @type {ContextPart[]} */
  const parts = [];
  for (const part of value) {
    const tokens = amount(part?.tokens, undefined);
    if (typeof part?.name === 'string' && tokens !== undefined) parts.push({ name: part.name, tokens });
  }
  return parts;
}
