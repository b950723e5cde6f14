package anthropicfake

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
)

// facts is what is to be known about a block or a tool besides its place.
type facts struct {
	sum    digest // of its meaning
	wire   digest // of its bytes, see [wireSum]
	tokens int    // without images
	images []image
}

// memo remembers what was found out about some bytes.
type memo[V any] struct {
	mu    sync.Mutex
	known map[digest]V
	most  int
}

// newMemo bounds the memory of a server that runs for long: over most entries it
// begins anew.
func newMemo[V any](most int) *memo[V] { return &memo[V]{known: make(map[digest]V), most: most} }

// get returns what find returned for the same kind and bytes before, or asks it. What
// comes with an error is not remembered.
func (m *memo[V]) get(kind string, raw []byte, find func() (V, *apiError)) (V, *apiError) {
	key := sha256.Sum256(slices.Concat([]byte(kind), []byte{0}, raw))
	m.mu.Lock()
	known, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := find()
	if err != nil {
		return found, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= m.most {
		clear(m.known)
	}
	m.known[key] = found
	return found, nil
}

func toolFacts(f fields, count func(string) int) facts {
	parts := []string{"tool"}
	tokens := 0
	for _, name := range []string{"name", "description", "input_schema", "strict", "type"} {
		part := canonical(f.has[name])
		parts = append(parts, part)
		tokens += count(part)
	}
	return facts{sum: newDigester().add(parts...).sum(), tokens: tokens}
}

func blockFacts(b *block, count func(string) int) facts {
	d := newDigester().add(b.kind)
	switch b.kind {
	case "text":
		return facts{sum: d.add(b.text).sum(), tokens: count(b.text)}
	case "thinking":
		return facts{sum: d.add(b.text, b.signature).sum(), tokens: count(b.text)}
	case "redacted_thinking":
		return facts{sum: d.add(b.signature).sum(), tokens: count(b.signature)}
	case "tool_use", "server_tool_use":
		input := canonical(b.fields.has["input"])
		return facts{sum: d.add(b.id, b.text, input).sum(), tokens: count(b.text) + count(input)}
	case "tool_result":
		d.add(b.id, canonical(orFalse(b.fields.has["is_error"])))
		out := facts{}
		for i, inner := range b.content {
			d.add(string(inner.facts.sum[:]))
			out.tokens += inner.facts.tokens
			for _, img := range inner.facts.images {
				img.where = index("tool_result.content", i)
				out.images = append(out.images, img)
			}
		}
		out.sum = d.sum()
		return out
	case "image":
		source, img := readImage(b.fields.has["source"])
		return facts{sum: d.add(source...).sum(), images: []image{img}}
	}
	tokens := 0
	for _, name := range []string{"source", "content", "title", "context", "tool_use_id", "encrypted_content", "signature"} {
		part := canonical(b.fields.has[name])
		d.add(part)
		tokens += count(part)
	}
	return facts{sum: d.sum(), tokens: tokens}
}

func orFalse(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || kindOf(raw) == 'n' {
		return json.RawMessage("false")
	}
	return raw
}
