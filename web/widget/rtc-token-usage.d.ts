// The element's interface.

import type { Client, Compaction, Subscription } from '../client/client.d.ts';

/** 0 to 50, to 80, to 100 percent of the threshold, and over it. */
export type Band = 'low' | 'mid' | 'high' | 'over';

export interface UsageDetails {
  input?: number;
  output?: number;
  cachedRead?: number;
  cachedWrite?: number;
  reasoning?: number;
}

/** A part of what the model gets. */
export interface ContextPart { name: string; tokens: number }

/** The detail of the event compaction. */
export interface CompactionDetail {
  kind: 'completed' | 'failed' | 'undone';
  outcome: Compaction['outcome'];
  tokensBefore: number;
  tokensAfter: number;
  /** All that the server says. */
  data: Compaction;
}

/** The detail of the event threshold. */
export interface ThresholdDetail { band: Band; previous: Band; progress: number }

/** The words of a language. */
export interface Messages {
  label: string;
  details: string;
  tokens: (used: string, threshold: string) => string;
  nextRound: string;
  soFar: string;
  input: string;
  output: string;
  cachedRead: string;
  cachedWrite: string;
  reasoning: string;
  hitRate: string;
  total: string;
  cost: string;
  estimated: string;
  measured: string;
  rounds: (n: number) => string;
  exceeded: string;
  compacting: string;
  compact: string;
  completed: (before: string, after: string) => string;
  undone: (before: string, after: string) => string;
  noop: string;
  failed: string;
  forbidden: string;
  unavailable: string;
  connecting: string;
  waiting: string;
  closed: string;
  parts: Record<string, string>;
}

export class RtcTokenUsage extends HTMLElement {
  /** Default system: as the page, or the machine, is set. */
  theme: 'light' | 'dark' | 'system';
  estimatedNext: number;
  totalTokens: number;
  totalCostUsd: number;
  compressionThreshold: number;
  /** In percent; over 100 if the threshold is exceeded. */
  compressionProgress: number;
  /** -1, the default: none can be told. */
  roundsUntilCompression: number;
  details: UsageDetails | undefined;
  /** The parts of the context, for the bar. A connected widget asks for them itself. */
  parts: ContextPart[];
  compacting: boolean;

  /** The server: with sessionId it connects by itself. */
  endpoint: string | undefined;
  sessionId: string | undefined;
  /** A ticket for one connection, or a function that gets one for each. */
  ticket: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Whether there is a button to compact. auto, the default: if it is connected. */
  compact: 'auto' | 'show' | 'hidden';
  /** Words that replace those of the language. */
  messages: Partial<Messages> | undefined;
  /** none: it shows what it is given. */
  readonly state: 'none' | 'connecting' | 'live' | 'waiting' | 'closed';

  /** Shows a session that the page follows itself; without arguments no longer. */
  connect(client?: Client, subscription?: Subscription): void;
}

declare global {
  interface HTMLElementTagNameMap { 'rtc-token-usage': RtcTokenUsage }
  interface HTMLElementEventMap {
    compaction: CustomEvent<CompactionDetail>;
    threshold: CustomEvent<ThresholdDetail>;
    /** The button was pressed. Prevent the default to compact in another way. */
    compact: CustomEvent<undefined>;
  }
}
