// What the widget says, in English and Chinese; pages add to it with the property messages.

import { wholePercent } from './meter.js';

/** @typedef {import('../rtc-token-usage.d.ts').Messages} Messages */

// Beyond these there is no room for all digits, and nobody to read them.
const LARGE = 1e9;
const MOST = 999e12;
const MOST_PERCENT = 9999;
/** The smallest sum that is written out. */
const LEAST_USD = 0.0001;

/** @type {Messages} */
const en = {
  label: 'Context',
  details: 'Context details',
  tokens: (used, threshold) => `${used} of ${threshold} tokens`,
  nextRound: 'Next round, about',
  soFar: 'Session so far',
  input: 'Input',
  output: 'Output',
  cachedRead: 'Read from cache',
  cachedWrite: 'Written to cache',
  reasoning: 'of it reasoning',
  hitRate: 'Cache hit rate',
  total: 'Total tokens',
  cost: 'Cost',
  estimated: 'estimated',
  measured: 'measured',
  rounds: (n) => (n === 0 ? 'Compaction before the next round' : `Compaction in about ${n} ${n === 1 ? 'round' : 'rounds'}`),
  exceeded: 'Compaction is due',
  compacting: 'Compacting …',
  compact: 'Compact now',
  completed: (before, after) => `Compacted: ${before} to ${after} tokens`,
  undone: (before, after) => `Compaction undone: ${before} to ${after} tokens`,
  noop: 'There was nothing to compact',
  failed: 'The compaction changed nothing',
  forbidden: 'You may not compact this session',
  unavailable: 'That was not possible',
  connecting: 'Connecting …',
  waiting: 'Offline, trying again …',
  closed: 'Disconnected',
  parts: {
    system: 'System prompt',
    tools: 'Tools',
    agent_prompt: 'AGENT.md',
    todo_list: 'Todo list',
    session_memory: 'Session memory',
    user_memory: 'User memory',
    attachments: 'Attachments',
    outdated_attachments: 'Older attachments',
    summary: 'Summary',
    pinned_request: 'Pinned request',
    messages: 'Messages',
    thinking: 'Thinking',
    open_round: 'Open tool round',
  },
};

/** @type {Messages} */
const zh = {
  label: '上下文',
  details: '上下文详情',
  tokens: (used, threshold) => `${used} / ${threshold} 个 token`,
  nextRound: '下一轮约',
  soFar: '会话累计',
  input: '输入',
  output: '输出',
  cachedRead: '缓存读取',
  cachedWrite: '缓存写入',
  reasoning: '其中推理',
  hitRate: '缓存命中率',
  total: 'token 总计',
  cost: '费用',
  estimated: '估算',
  measured: '实测',
  rounds: (n) => (n === 0 ? '下一轮之前压缩' : `约 ${n} 轮后压缩`),
  exceeded: '即将压缩',
  compacting: '正在压缩…',
  compact: '立即压缩',
  completed: (before, after) => `已压缩：${before} → ${after} 个 token`,
  undone: (before, after) => `已撤销压缩：${before} → ${after} 个 token`,
  noop: '没有可压缩的内容',
  failed: '压缩未生效',
  forbidden: '无权压缩此会话',
  unavailable: '操作未成功',
  connecting: '正在连接…',
  waiting: '已离线，正在重试…',
  closed: '连接已断开',
  parts: {
    system: '系统提示',
    tools: '工具',
    agent_prompt: 'AGENT.md',
    todo_list: '待办列表',
    session_memory: '会话记忆',
    user_memory: '用户记忆',
    attachments: '附件',
    outdated_attachments: '旧附件',
    summary: '摘要',
    pinned_request: '置顶请求',
    messages: '消息',
    thinking: '思考',
    open_round: '进行中的工具轮',
  },
};

/**
 * The words and numbers of a language: Chinese for what begins with zh, else English, with
 * what the page has of its own.
 * @param {string} language a BCP 47 tag, as in lang
 * @param {Partial<Messages> | undefined} own
 */
export function speak(language, own) {
  const base = /^zh\b/i.test(language) ? zh : en;
  const words = wordsOf(base, own);
  const locale = supported(language);
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
  const large = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
  const dollars = /** @type {const} */ ({ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' });
  const money = new Intl.NumberFormat(locale, { ...dollars, minimumFractionDigits: 2, maximumFractionDigits: 4 });
  const largeMoney = new Intl.NumberFormat(locale, { ...dollars, notation: 'compact', minimumFractionDigits: 0, maximumFractionDigits: 1 });
  return {
    language: own ? language : base === zh ? 'zh' : 'en',
    words,
    number: (/** @type {number} */ n) => (n < LARGE ? number.format(n) : n < MOST ? large.format(n) : `>${large.format(MOST)}`),
    percent: (/** @type {number} */ share) => percent.format(share),
    progress: (/** @type {number} */ p) => (p < MOST_PERCENT ? percent.format(wholePercent(p) / 100) : `>${percent.format(MOST_PERCENT / 100)}`),
    money: (/** @type {number} */ usd) => {
      if (usd >= LARGE) return usd < MOST ? largeMoney.format(usd) : `>${largeMoney.format(MOST)}`;
      return usd > 0 && usd < LEAST_USD ? `<${money.format(LEAST_USD)}` : money.format(usd);
    },
    part: (/** @type {string} */ name) => (Object.hasOwn(words.parts, name) ? words.parts[name] : name.replaceAll('_', ' ')),
  };
}

/** @typedef {ReturnType<typeof speak>} Speech */

/**
 * A page's own words where they are words, else the language's.
 * @param {Messages} base
 * @param {any} own
 * @returns {Messages}
 */
function wordsOf(base, own) {
  /** @type {Record<string, any>} */
  const words = { ...base };
  for (const [name, word] of Object.entries(base)) {
    const given = own?.[name];
    if (typeof word === 'function') words[name] = said(word, given);
    else if (typeof word === 'string' && typeof given === 'string') words[name] = given;
  }
  const parts = Object.entries(own?.parts ?? {}).filter(([, word]) => typeof word === 'string');
  words.parts = { ...base.parts, ...Object.fromEntries(parts) };
  return /** @type {Messages} */ (words);
}

/**
 * What a page's own function says, else the language's.
 * @param {Function} word
 * @param {unknown} given
 */
function said(word, given) {
  if (typeof given === 'string') return () => given;
  if (typeof given !== 'function') return word;
  return (/** @type {unknown[]} */ ...values) => {
    try {
      const words = given(...values);
      if (typeof words === 'string') return words;
    } catch (error) {
      console.warn('rtc-token-usage: messages:', error);
    }
    return word(...values);
  };
}

/**
 * A page's lang may be anything.
 * @param {string} language
 */
function supported(language) {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language)[0] ?? 'en';
  } catch {
    return 'en';
  }
}
