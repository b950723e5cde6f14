// How the widget looks. The variables are listed in README.md.

const sheet = new CSSStyleSheet();
sheet.replaceSync(`
:host {
  --_low: var(--rtc-color-low, light-dark(#15803d, #4ade80));
  --_mid: var(--rtc-color-mid, light-dark(#b7791f, #fbbf24));
  --_high: var(--rtc-color-high, light-dark(#dd5a0b, #fb923c));
  --_over: var(--rtc-color-over, light-dark(#c81e1e, #f87171));
  --_bg: var(--rtc-color-bg, light-dark(#ffffff, #1b1e25));
  --_soft: var(--rtc-color-bg-secondary, light-dark(#f3f4f7, #262a33));
  --_line: var(--rtc-color-border, light-dark(#d9dde4, #383d49));
  --_text: var(--rtc-color-text, light-dark(#1a1d23, #eceef2));
  --_dim: var(--rtc-color-text-secondary, light-dark(#59606e, #a3abba));
  --_accent: var(--rtc-color-primary, light-dark(#2456d6, #8cb1ff));
  --_size: var(--rtc-size, 28px);
  --_band: var(--_low);
  color-scheme: light dark;
  display: inline-flex;
  vertical-align: middle;
  font: 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", sans-serif;
  font-family: var(--rtc-font-family-base, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", sans-serif);
  color: var(--_text);
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }

.meter { position: relative; display: inline-flex; align-items: center; gap: 6px; }
.meter[data-band="mid"], .panel[data-band="mid"] { --_band: var(--_mid); }
.meter[data-band="high"], .panel[data-band="high"] { --_band: var(--_high); }
.meter[data-band="over"], .panel[data-band="over"] { --_band: var(--_over); }

.ring { position: relative; inline-size: var(--_size); block-size: var(--_size); flex: none; }
.ring svg { display: block; inline-size: 100%; block-size: 100%; transform: rotate(-90deg); }
circle { fill: none; stroke-width: 4; }
.track { stroke: var(--_line); }
.fill {
  stroke: var(--_band);
  stroke-linecap: round;
  stroke-dasharray: var(--_ring, 0) 100;
  transition: stroke-dasharray 400ms ease, stroke 400ms ease;
}
.fill.empty { stroke-linecap: butt; }
.near {
  position: absolute; inset-block-start: -1px; inset-inline-end: -1px;
  inline-size: 9px; block-size: 9px; border-radius: 50%;
  background: var(--_band); border: 2px solid var(--_bg);
}
.percent { min-inline-size: 4ch; font-variant-numeric: tabular-nums; font-size: 12px; color: var(--_dim); }

.busy .fill { stroke: var(--_accent); stroke-dasharray: 28 72; }
.busy svg { animation: turn 1.1s linear infinite; }
.stale .ring { opacity: 0.55; }
@keyframes turn { from { transform: rotate(-90deg); } to { transform: rotate(270deg); } }

.open {
  position: absolute; inset: -4px; padding: 0; border: 0; border-radius: 999px;
  background: transparent; cursor: pointer; -webkit-tap-highlight-color: transparent;
}
.open:focus-visible, .compact:focus-visible, .panel:focus-visible { outline: 2px solid var(--_accent); outline-offset: 1px; }

.panel {
  position: fixed; inset: auto; margin: 0; padding: 12px 16px 14px;
  inline-size: min(300px, calc(100vw - 16px)); max-block-size: calc(100vh - 16px); overflow: auto;
  color: var(--_text); background: var(--_bg);
  border: 1px solid var(--_line); border-radius: 12px;
  box-shadow: var(--rtc-shadow-lg, 0 10px 30px rgb(0 0 0 / 0.18), 0 2px 6px rgb(0 0 0 / 0.1));
  font-size: 12.5px; line-height: 1.4; font-variant-numeric: tabular-nums; text-align: start;
}
.head { display: flex; align-items: baseline; gap: 8px; }
.title { flex: 1; font-weight: 600; }
.kind { font-size: 11px; color: var(--_dim); }
.used { display: flex; align-items: baseline; justify-content: space-between; gap: 12px; margin-block: 2px 8px; }
.used b { font-size: 20px; font-weight: 650; letter-spacing: -0.01em; }
.used span { color: var(--_dim); }

.bar { position: relative; display: flex; gap: 1px; block-size: 10px; border-radius: 5px; background: var(--_soft); box-shadow: inset 0 0 0 1px var(--_line); }
.segments { display: flex; gap: 1px; inline-size: 100%; border-radius: 5px; overflow: hidden; }
.segment { flex: none; min-inline-size: 2px; background: var(--_part); transition: inline-size 300ms ease; }
.mark { position: absolute; inset-block: -3px; inline-size: 2px; background: var(--_text); }
.legend { list-style: none; margin: 10px 0 0; padding: 0; display: grid; gap: 3px; }
.legend li { display: flex; align-items: center; gap: 8px; }
.swatch { inline-size: 9px; block-size: 9px; margin-block-end: 2px; border-radius: 3px; flex: none; background: var(--_part); }
.name { flex: 1; overflow-wrap: anywhere; }
.value { color: var(--_dim); }

[data-part] { --_part: var(--rtc-part-other, light-dark(#5b6472, #a7b0bf)); }
[data-part="system"] { --_part: var(--rtc-part-system, light-dark(#4f46e5, #a5b4fc)); }
[data-part="tools"] { --_part: var(--rtc-part-tools, light-dark(#0e7490, #67e8f9)); }
[data-part="summary"] { --_part: var(--rtc-part-summary, light-dark(#0f766e, #5eead4)); }
[data-part="pinned_request"] { --_part: var(--rtc-part-pinned-request, light-dark(#be185d, #f9a8d4)); }
[data-part="messages"] { --_part: var(--rtc-part-messages, light-dark(#2563eb, #60a5fa)); }
[data-part="open_round"] { --_part: var(--rtc-part-open-round, light-dark(#a16207, #fcd34d)); }
[data-part="thinking"] { --_part: var(--rtc-part-thinking, light-dark(#7c3aed, #c4b5fd)); }
[data-part="agent_prompt"], [data-part="todo_list"], [data-part="session_memory"], [data-part="user_memory"],
[data-part="attachments"], [data-part="outdated_attachments"] { --_part: var(--rtc-part-attachments, light-dark(#a21caf, #f0abfc)); }

.rows { margin: 0; display: grid; gap: 3px; }
.legend + .rows { margin-block-start: 8px; }
.heading {
  margin: 10px 0 4px; padding-block-start: 10px; border-block-start: 1px solid var(--_line);
  font-size: 11px; font-weight: 600; letter-spacing: 0.03em; color: var(--_dim);
}
.rows div { display: flex; justify-content: space-between; gap: 12px; }
.rows dt { color: var(--_dim); }
.rows dd { margin: 0; min-inline-size: 0; overflow-wrap: anywhere; text-align: end; }
.rows .sub dt { padding-inline-start: 12px; }
.rows .strong dt, .rows .strong dd { color: var(--_text); font-weight: 600; }

.footer, .note { margin: 10px 0 0; padding: 7px 10px; border-radius: 8px; background: var(--_soft); }
.footer { border-inline-start: 3px solid var(--_band); }
.note { color: var(--_dim); }
.compact {
  margin-block-start: 12px; inline-size: 100%; padding: 7px 12px; border-radius: 8px; cursor: pointer;
  font: inherit; font-weight: 600; color: var(--_text); background: var(--_bg); border: 1px solid var(--_line);
}
.compact:hover { background: var(--_soft); }
.compact[aria-disabled="true"] { cursor: default; color: var(--_dim); background: var(--_soft); }
.spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@media (prefers-reduced-motion: reduce) {
  .fill, .segment { transition: none; }
  .busy svg { animation: none; }
  .busy .fill { stroke-dasharray: 10 10; stroke-linecap: butt; }
}
@media (forced-colors: active) {
  .track { stroke: GrayText; }
  .fill { stroke: Highlight; }
  .segment, .swatch, .near, .mark { forced-color-adjust: none; }
}
`);

/** The sheet of all widgets of a page: constructed, for pages that allow no inline styles. */
export const styles = [sheet];
