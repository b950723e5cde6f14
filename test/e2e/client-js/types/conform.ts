// The code does what the declarations say: what it is inferred to be fits them.

import * as declared from '../../../../web/client/client.js';
import { Client } from '../../../../web/client/lib/client.js';
import { ConnectionError, RpcError } from '../../../../web/client/lib/errors.js';
import { newKey } from '../../../../web/client/lib/key.js';
import { Subscription } from '../../../../web/client/lib/subscription.js';
import { RtcTokenUsage } from '../../../../web/widget/lib/element.js';
import * as widget from '../../../../web/widget/rtc-token-usage.js';

declare const client: Client;
client satisfies declared.Client;
Client satisfies new (options?: declared.ClientOptions) => declared.Client;
declare const subscription: Subscription;
subscription satisfies Omit<declared.Subscription, never>;
RpcError satisfies typeof declared.RpcError;
ConnectionError satisfies typeof declared.ConnectionError;
newKey satisfies typeof declared.newKey;

declare const element: RtcTokenUsage;
element satisfies widget.RtcTokenUsage;
