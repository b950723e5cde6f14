package prompt

import (
	"sessiond/llm"
	"sessiond/message"
)

// The bounds of a request's body (rule 1.25). Pictures are what makes one large: the
// tokens that a model takes are a few megabytes of text, but can be a hundred of pictures.
const (
	// defaultBodyBytes is taken where nobody says what a provider takes: what the narrowest
	// of the large ones does.
	defaultBodyBytes = 32_000_000
	// highShare of the bound, in percent, is what a request may have; the rest is for what a
	// provider's form adds to what is counted here. Over it the oldest pictures go, until
	// lowShare is reached: so there is room for several more before any have to go again,
	// and the beginning of the conversation changes rarely.
	highShare, lowShare = 90, 50
)

// What the form of a provider adds, at most, to a block, a message and a tool.
const formBytes = 160

// Bytes returns how many bytes a request has when it is encoded, rather too many than too
// few.
func Bytes(req *llm.Request) int {
	n := preambleBytes(req)
	for i := range req.Messages {
		n += formBytes + contentBytes(req.Messages[i].Content)
	}
	return n
}

func preambleBytes(req *llm.Request) int {
	n := formBytes + jsonBytes(req.System)
	for _, t := range req.Tools {
		n += formBytes + len(t.Name) + jsonBytes(t.Description) + jsonBytes(string(t.InputSchema))
	}
	return n
}

func contentBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		n += blockBytes(b)
	}
	return n
}

func blockBytes(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return formBytes + jsonBytes(b.Text)
	case message.Image:
		return formBytes + len(b.Data)
	case message.Thinking:
		return formBytes + jsonBytes(b.Text) + jsonBytes(string(b.Raw))
	case message.ToolUse:
		return formBytes + len(b.Name) + jsonBytes(string(b.Input)) // some write it as a string
	case message.ToolResult:
		return formBytes + contentBytes(b.Content)
	}
	return formBytes
}

// jsonBytes is the length of a string in JSON, written by the encoder that escapes the
// most.
func jsonBytes(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '<', c == '>', c == '&', c == 0x7f:
			n += len(`\u003c`) - 1
		case c == '"', c == '\\':
			n++
		}
	}
	return n
}

// tooHeavy returns how many of the oldest images have to go for their bytes. The
// conversation is gone through from its start, and whenever it is over the high mark by
// then, the oldest images go until it is under the low one, but for the newest if that one
// fits. So what is decided at a place
// depends on nothing that comes later: a conversation that grows keeps what was decided,
// and there is nothing to remember.
func (b *builder) tooHeavy(req *llm.Request) int {
	most := req.MaxBodyBytes
	if most <= 0 {
		most = defaultBodyBytes
	}
	high, low := most/100*highShare, most/100*lowShare
	note := blockBytes(tooOld())
	total := preambleBytes(req)
	var images []int // their sizes, in order
	gone := 0
	add := func(block message.Block) {
		n := blockBytes(block)
		if _, ok := block.(message.Image); ok {
			images = append(images, n)
		}
		if total += n; total <= high {
			return
		}
		for ; gone < len(images) && (total > high || total > low && gone+1 < len(images)); gone++ {
			total -= images[gone] - note
		}
	}
	for _, d := range b.drafts {
		total += formBytes
		for k := range d.content {
			if r, ok := d.content[k].Block.(message.ToolResult); ok {
				total += formBytes
				for _, inner := range r.Content {
					add(inner)
				}
				continue
			}
			add(d.content[k].Block)
		}
	}
	return gone
}
