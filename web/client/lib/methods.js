// Code generated from the server's method registry (go generate ./web); DO NOT EDIT.

/** The methods that change something, and so take an idempotency key. */
export const WRITES = new Set([
  'v1.session.create',
  'v1.session.update',
  'v1.session.close',
  'v1.session.open',
  'v1.session.delete',
  'v1.session.fork',
  'v1.session.compact',
  'v1.session.undo_compact',
  'v1.message.send',
  'v1.turn.stop',
  'v1.tool.submit_result',
  'v1.tool.claim',
  'v1.memory.create',
  'v1.memory.update',
  'v1.memory.delete',
]);
