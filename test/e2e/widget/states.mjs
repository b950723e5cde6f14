// Every state that the widget can be seen in: its properties, and whether the panel is open.
const parts = [
  { name: 'messages', tokens: 6210 }, { name: 'system', tokens: 1480 }, { name: 'tools', tokens: 912 },
  { name: 'summary', tokens: 1744 }, { name: 'session_memory', tokens: 310 }, { name: 'thinking', tokens: 120 },
];

/** A context that is so many percent full. */
function full(percent, rounds, more) {
  return {
    compressionThreshold: 12_000, compressionProgress: percent, estimatedNext: 120 * percent + 900, roundsUntilCompression: rounds,
    totalTokens: 93_570, totalCostUsd: 0.1874, details: { input: 18_240, output: 4_310, cachedRead: 61_900, cachedWrite: 9_120, reasoning: 1_204 },
    parts: parts.map(({ name, tokens }) => ({ name, tokens: Math.round(tokens * percent / 90) })), compact: 'show', ...more,
  };
}

const phone = { width: 375, height: 640 };

export const states = {
  'ring-empty': { properties: full(0, -1, { estimatedNext: 0 }) },
  'ring-low': { properties: full(23.4, 12) },
  'ring-mid': { properties: full(61.5, 5) },
  'ring-high': { properties: full(88.2, 2) },
  'ring-over': { properties: full(112.6, -1) },
  'ring-compacting': { properties: full(101, -1, { compacting: true }) },
  'panel-low': { properties: full(23.4, 12), open: true },
  'panel-mid': { properties: full(61.5, 5), open: true },
  'panel-high': { properties: full(88.2, 2), open: true },
  'panel-over': { properties: full(112.6, -1), open: true },
  'panel-compacting': { properties: full(101, -1, { compacting: true }), open: true },
  'panel-plain': { properties: full(61.5, 5, { parts: [], details: undefined, compact: 'hidden' }), open: true },
  'panel-zh': { properties: full(88.2, 2), open: true, lang: 'zh-CN' },
  'panel-phone': { properties: full(88.2, 2), open: true, viewport: phone },
};
