package anthropicfake

import (
	"encoding/json"
	"slices"
)

// walk goes through a request in the order of the prompt: tools, system, messages.
type walk struct {
	bound     digest // prefix that thinking is bound to
	cached    digest // prefix that the prompt cache is keyed by
	role      string
	tokens    int
	positions []position
	model     Model
}

// position is a place in the prompt where a cache entry can end.
type position struct {
	key    digest // of the prefix up to here
	tokens int    // of the prefix up to here
	marker *marker
	holds  bool // whether a marker may stand here
}

// perMessage is what a message costs besides its content.
const perMessage = 3

func newWalk(r *request) *walk {
	w := &walk{model: r.model}
	// Another model or another account has another cache.
	w.cached = newDigester().add("cache", r.key, r.model.ID).sum()
	tools := newDigester().add("tools").sum()
	for _, t := range r.tools {
		tools = tools.next(string(t.facts.sum[:]))
		w.add(t.facts, t.facts.tokens, t.marker, true)
	}
	// What these settings say counts from the system prompt on (rule 5.8).
	w.cached = w.cached.next("system", unless(r.speed, "standard"), boolText(r.cites()))
	system := newDigester().add("system").sum()
	for _, b := range r.system {
		system = system.next(string(b.facts.sum[:]))
		w.add(b.facts, b.facts.tokens, b.marker, true)
	}
	r.toolsSum, r.systemSum = tools, system
	w.bound = newDigester().add("bound", string(tools[:]), string(system[:])).sum()
	// And these for the messages only; a default that is said is as one that is not.
	choice := r.toolChoice
	w.cached = w.cached.next("messages", choice.kind, choice.name, boolText(choice.parallel),
		r.thinking.key(r.model), unless(r.effort, r.model.DefaultEffort), string(rune('0'+r.imageCount())))
	return w
}

func boolText(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// unless returns nothing for what is the default.
func unless(value, byDefault string) string {
	if value == byDefault {
		return ""
	}
	return value
}

// cites reports whether a document of the request is to be cited from.
func (r *request) cites() bool {
	for _, t := range r.turns {
		for _, b := range t.blocks {
			var c struct {
				Enabled bool `json:"enabled"`
			}
			if b.kind == "document" && b.fields.given("citations") && json.Unmarshal(b.fields.has["citations"], &c) == nil && c.Enabled {
				return true
			}
		}
	}
	return false
}

// turn begins a turn.
func (w *walk) turn(role string) {
	if role == w.role {
		return
	}
	w.role = role
	w.tokens += perMessage
	w.bound = w.bound.next("role", role)
	w.cached = w.cached.next("role", role)
}

// block adds a block. One that the model does not get to see has no place in its prompt.
func (w *walk) block(b *block, unseen bool) {
	w.bound = w.bound.next(string(b.facts.sum[:]))
	if unseen {
		return
	}
	tokens := b.facts.tokens
	for _, img := range b.facts.images {
		tokens += img.tokens(w.model)
	}
	marker := b.marker
	for _, inner := range b.content { // a marker inside a result counts where the result ends
		if inner.marker != nil {
			marker = inner.marker
		}
	}
	w.add(b.facts, tokens, marker, !b.thinks())
}

func (w *walk) add(f facts, tokens int, m *marker, holds bool) {
	w.tokens += tokens
	w.cached = w.cached.next(string(f.wire[:]))
	w.positions = append(w.positions, position{key: w.cached, tokens: w.tokens, marker: m, holds: holds})
}

// checkMarkers counts the cache markers and checks the order of their lifetimes.
func (r *request) checkMarkers() *apiError {
	markers := r.markers()
	count := len(markers)
	if r.topCache != nil {
		count++
	}
	const most = 4
	if count > most {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", most, count)
	}
	short := false
	for _, m := range markers {
		if m.long && short {
			return invalid("%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", m.path)
		}
		short = short || !m.long
	}
	if r.topCache == nil {
		return nil
	}
	if r.topCache.long && short {
		return invalid("cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.")
	}
	last := r.lastHolder()
	if last < 0 {
		return nil
	}
	p := &r.positions[last]
	if p.marker != nil && p.marker.long != r.topCache.long {
		return invalid("cache_control.ttl: the last block has a cache_control with another ttl")
	}
	p.marker = r.topCache
	return nil
}

// lastHolder is the last position that may have a marker, where an automatic one stands,
// or -1.
func (r *request) lastHolder() int {
	for i := range slices.Backward(r.positions) {
		if r.positions[i].holds {
			return i
		}
	}
	return -1
}

// markers lists the markers of a request in order of processing.
func (r *request) markers() []*marker {
	var out []*marker
	add := func(m *marker) {
		if m != nil {
			out = append(out, m)
		}
	}
	for _, t := range r.tools {
		add(t.marker)
	}
	for _, b := range r.system {
		add(b.marker)
	}
	for _, t := range r.turns {
		for _, b := range t.blocks {
			for _, inner := range b.content {
				add(inner.marker)
			}
			add(b.marker)
		}
	}
	return out
}
