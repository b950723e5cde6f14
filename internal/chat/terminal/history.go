package terminal

// historyEntries is how many messages can be gone back to.
const historyEntries = 500

// history is what was typed, for the keys up and down. It lasts as long as the chat.
type history struct {
	entries []string
	at      int    // the entry that is shown; len(entries): what is being typed
	draft   string // what was being typed
}

// add takes a message that was sent and goes to the end.
func (h *history) add(text string) {
	if n := len(h.entries); n == 0 || h.entries[n-1] != text {
		h.entries = append(h.entries, text)
	}
	if len(h.entries) > historyEntries {
		h.entries = h.entries[1:]
	}
	h.at, h.draft = len(h.entries), ""
}

// back returns the message before; false if there is none.
func (h *history) back(typed string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = typed
	}
	h.at--
	return h.entries[h.at], true
}

// forth returns the message after, at last what was being typed; false beyond that.
func (h *history) forth() (string, bool) {
	if h.at == len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
