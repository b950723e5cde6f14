// Numbers and times for people.

const whole = new Intl.NumberFormat('en');
const compactly = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

/** @param {number} n */
export function count(n) { return whole.format(Math.round(n)); }

/** 12,345 as 12.3K. @param {number} n */
export function short(n) { return compactly.format(n); }

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function plural(n, one, many = `${one}s`) { return `${count(n)} ${n === 1 ? one : many}`; }

/** @param {number} usd */
export function cost(usd) {
  if (!usd) return '$0';
  const digits = Math.abs(usd) < 0.01 ? 5 : Math.abs(usd) < 1 ? 4 : 2;
  return `${usd < 0 ? '−' : ''}$${Math.abs(usd).toFixed(digits)}`;
}

/** @param {number} percent */
export function percentage(percent) { return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`; }

/** @param {number} ms */
export function duration(ms) {
  if (ms < 950) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number} n */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1_000_000 ? `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} kB` : `${(n / 1_000_000).toFixed(1)} MB`;
}

/**
 * How long ago that was.
 * @param {string} time
 * @param {number} [now]
 */
export function since(time, now = Date.now()) {
  const seconds = (Date.parse(time) - now) / 1000;
  if (seconds > -45) return 'now';
  if (seconds > -3600) return ago.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86_400) return ago.format(Math.round(seconds / 3600), 'hour');
  return ago.format(Math.round(seconds / 86_400), 'day');
}
