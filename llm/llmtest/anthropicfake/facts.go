package anthropicfake

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
)

// facts is what is worth remembering about a block, a tool or an image: it takes
// long to find out, and a conversation sends the same blocks again and again.
type facts struct {
	sum    digest // of its meaning
	tokens int    // without images
	images []image
}

// blockMemo remembers facts by the bytes they were found in.
type blockMemo struct {
	mu    sync.Mutex
	known map[digest]facts
}

func newBlockMemo() *blockMemo { return &blockMemo{known: make(map[digest]facts)} }

// maxMemo bounds the memory of a server that runs for long.
const maxMemo = 200_000

func (m *blockMemo) get(kind string, raw []byte, find func() facts) facts {
	key := sha256.Sum256(slices.Concat([]byte(kind), raw))
	m.mu.Lock()
	known, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return known
	}
	found := find()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxMemo {
		clear(m.known)
	}
	m.known[key] = found
	return found
}

func (m *blockMemo) tool(raw json.RawMessage, f fields, count func(string) int) facts {
	return m.get("tool", raw, func() facts {
		parts := []string{"tool"}
		tokens := 0
		for _, name := range []string{"name", "description", "input_schema", "strict", "type"} {
			part := canonical(f.has[name])
			parts = append(parts, part)
			tokens += count(part)
		}
		return facts{sum: newDigester().add(parts...).sum(), tokens: tokens}
	})
}

// block finds the facts of a block that was read as far as its content.
func (m *blockMemo) block(raw json.RawMessage, b *block, count func(string) int) facts {
	return m.get(b.kind, raw, func() facts { return findFacts(b, count) })
}

func findFacts(b *block, count func(string) int) facts {
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
