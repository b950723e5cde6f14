// A page as people have it: a place to write, and the widget beside the button.
export const chat = (attributes = '') => ({
  '/': `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chat</title>
<link rel="stylesheet" href="/chat.css">
<script type="module" src="/assets/widget/rtc-token-usage.js"></script>
<main>
  <h1>Chat</h1>
  <div class="input">
    <textarea aria-label="Message" placeholder="Write a message"></textarea>
    <div class="bar"><rtc-token-usage ${attributes}></rtc-token-usage> <button id="send">Send</button></div>
  </div>
</main>
</html>`,
  '/chat.css': `
html { color-scheme: light dark; }
body { margin: 0; font: 15px system-ui; background: light-dark(#eef0f4, #101216); color: light-dark(#111, #eee); }
main { min-height: 100vh; display: flex; flex-direction: column; justify-content: flex-end; padding: 16px; box-sizing: border-box; }
h1 { position: absolute; top: 8px; left: 16px; margin: 0; font-size: 16px; }
.input { background: light-dark(#fff, #181b21); border: 1px solid light-dark(#d5d9e0, #343944); border-radius: 14px; padding: 10px; }
textarea { width: 100%; box-sizing: border-box; border: 0; background: none; color: inherit; font: inherit; resize: none; }
.bar { display: flex; justify-content: space-between; align-items: center; }
#send { font: inherit; padding: 6px 14px; border-radius: 9px; border: 0; background: #2456d6; color: #fff; }
`,
});
