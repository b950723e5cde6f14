// A plain page to try a session out with: it creates a session, follows its log and
// resumes after a lost connection. Text goes into the page as text only.

const $ = (id) => document.getElementById(id);
const stored = 'sessiond.session';
let socket, nextID, waiting, session, lastSeq, logID, draft, retryMS = 500;

function say(text) { $('state').textContent = text; }

function show(kind, text) {
  const article = document.createElement('article');
  article.className = kind;
  article.textContent = text;
  $('log').append(article);
  $('log').scrollTop = $('log').scrollHeight;
  return article;
}

function call(method, params) {
  return new Promise((resolve, reject) => {
    const id = nextID++;
    waiting.set(id, { resolve, reject });
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  });
}

function connect() {
  nextID = 1;
  waiting = new Map();
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(`${scheme}//${location.host}/v1/rpc`, ['sessiond.v1']);
  socket.onopen = () => { retryMS = 500; begin().catch(fail); };
  socket.onmessage = (e) => receive(JSON.parse(e.data));
  socket.onclose = (e) => {
    for (const { reject } of waiting.values()) reject(new Error('the connection was lost'));
    if (e.code >= 4500) { say(`disconnected: ${e.reason}`); return; }
    say('disconnected, trying again …');
    setTimeout(connect, retryMS * (0.5 + Math.random()));
    retryMS = Math.min(retryMS * 2, 15000);
  };
}

async function begin() {
  const id = session?.id ?? sessionStorage.getItem(stored);
  if (id) {
    try { return await follow(id); } catch (e) {
      if (e.data?.kind !== 'not_found') throw e;
    }
  }
  const made = await call('v1.session.create', { metadata: { from: 'console' } });
  return follow(made.session.id);
}

async function follow(id) {
  if (session?.id !== id) { $('log').replaceChildren(); lastSeq = 0; logID = undefined; draft = undefined; }
  let page;
  do {
    try {
      page = await call('v1.session.subscribe', { session_id: id, after_seq: lastSeq, ...(logID && { log_id: logID }) });
    } catch (e) {
      if (e.data?.kind !== 'log_reset' || lastSeq === 0) throw e;
      $('log').replaceChildren(); lastSeq = 0; logID = undefined;
      page = { entries: [], more: true };
      continue;
    }
    logID = page.log_id;
    page.entries.forEach(apply);
  } while (page.more);
  session = page.session;
  sessionStorage.setItem(stored, id);
  for (const item of page.open_items) if (item.kind === 'text') openDraft(item.item_id, item.next, item.text);
  status();
}

function status() { say(`${session.model} · ${session.title || 'new session'} · ${session.id}`); }

function receive(m) {
  if (m.id !== undefined && m.id !== null) {
    const call = waiting.get(m.id);
    waiting.delete(m.id);
    if (m.error) call?.reject(Object.assign(new Error(m.error.message), m.error)); else call?.resolve(m.result);
    return;
  }
  const p = m.params;
  if (m.method === 'v1.server.notice') say('the server is restarting …');
  if (p?.session_id !== session?.id) return;
  if (m.method === 'v1.session.event') {
    if (p.seq === lastSeq + 1) apply(p);
    else if (p.seq > lastSeq + 1) follow(session.id).catch(fail);
  }
  if (m.method === 'v1.session.delta' && p.kind === 'text') {
    if (!draft || draft.id !== p.item_id) openDraft(p.item_id, p.from === 0 ? 0 : NaN, '');
    if (p.from === draft.next) { draft.node.textContent += p.text; draft.next = p.to; $('log').scrollTop = $('log').scrollHeight; }
  }
}

function openDraft(id, next, text) {
  draft?.node.remove();
  draft = { id, next, node: show('assistant', text) };
}

function closeDraft() { draft?.node.remove(); draft = undefined; }

function apply(e) {
  lastSeq = e.seq;
  const d = e.data;
  switch (e.type) {
    case 'message.added':
    case 'message.queued':
      closeDraft();
      for (const b of d.message.content) {
        if (b.type === 'text') show(d.message.role, b.omitted ? `(${b.bytes} bytes)` : b.text);
        if (b.type === 'image') show(d.message.role, `[${b.mime_type}]`);
      }
      break;
    case 'tool.called': show('tool', `${d.name} ${JSON.stringify(d.input)}`); break;
    case 'tool.resolved':
      show('tool', `→ ${d.content.map((b) => b.text ?? `[${b.type}]`).join('\n')}`);
      break;
    case 'turn.started': $('stop').disabled = false; break;
    case 'turn.completed':
      closeDraft();
      $('stop').disabled = true;
      if (d.status !== 'completed') show(d.error ? 'error' : 'note', d.error ? `${d.error.kind}: ${d.error.message}` : d.status);
      break;
    case 'session.updated': if (d.title !== undefined && session) { session.title = d.title; status(); } break;
    case 'session.deleted': show('note', 'The session was deleted.'); break;
  }
}

function fail(e) { show('error', e.message); }

async function send() {
  const text = $('text').value;
  if (!text.trim()) return;
  $('text').value = '';
  try {
    await call('v1.message.send', { session_id: session.id, content: text, key: crypto.randomUUID() });
  } catch (e) {
    $('text').value = text;
    fail(e);
  }
}

$('form').addEventListener('submit', (e) => { e.preventDefault(); send(); });
$('text').addEventListener('keydown', (e) => {
  if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); }
});
$('stop').addEventListener('click', () => call('v1.turn.stop', { session_id: session.id }).catch(fail));
$('fresh').addEventListener('click', async () => {
  try {
    await call('v1.session.unsubscribe', { session_id: session.id });
    const made = await call('v1.session.create', {});
    await follow(made.session.id);
    $('text').focus();
  } catch (e) { fail(e); }
});
connect();
