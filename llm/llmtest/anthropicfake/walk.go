package anthropicfake

import "slices"

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
		w.add(t.facts.sum, t.facts.tokens, t.marker, true)
	}
	system := newDigester().add("system").sum()
	for _, b := range r.system {
		system = system.next(string(b.facts.sum[:]))
		w.add(b.facts.sum, b.facts.tokens, b.marker, true)
	}
	r.toolsSum, r.systemSum = tools, system
	w.bound = newDigester().add("bound", string(tools[:]), string(system[:])).sum()
	// What these settings say counts for the messages only.
	choice := r.toolChoice
	w.cached = w.cached.next("messages", choice.kind, choice.name, boolText(choice.parallel), r.thinking.raw, r.effort,
		string(rune('0'+r.imageCount())))
	return w
}

func boolText(b bool) string {
	if b {
		return "yes"
	}
	return ""
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

func (w *walk) block(b *block) {
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
	w.bound = w.bound.next(string(b.facts.sum[:]))
	w.add(b.facts.sum, tokens, marker, !b.thinks())
}

func (w *walk) add(sum digest, tokens int, m *marker, holds bool) {
	w.tokens += tokens
	w.cached = w.cached.next(string(sum[:]))
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
	for i := range slices.Backward(r.positions) { // it stands for one on the last block that can have one
		if r.positions[i].holds {
			r.positions[i].marker = r.topCache
			break
		}
	}
	return nil
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
