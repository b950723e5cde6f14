// The element <rtc-token-usage>: how full a session's context is. See README.md.

import { RtcTokenUsage } from './lib/element.js';

// A page may get the module twice, from two servers or two versions: the first one counts.
if (!customElements.get('rtc-token-usage')) customElements.define('rtc-token-usage', RtcTokenUsage);

export { RtcTokenUsage };
