package ingest

import (
	"strings"

	"sessiond/message"
)

// document is a file that is shown as text.
type document struct {
	place
	whole       string // wrapped
	open, close int    // bytes of the tags, their newlines included
	tokens      int    // of whole
	changes     []string
}

// tag is the name of the wrapper.
const tag = "file"

func (o Options) newDocument(at place, declared, text string, changes []string) *document {
	name := at.name
	if name == "" {
		name = "unnamed"
	}
	d := &document{place: at, changes: changes}
	d.whole = message.Wrap(tag, text, message.Attr{Name: "name", Value: name}, message.Attr{Name: "type", Value: cleanType(declared)})
	d.open = strings.Index(d.whole, ">\n") + len(">\n") // values have no bracket
	d.close = len("\n</" + tag + ">")
	d.tokens = o.Counter.Count(d.whole)
	return d
}

func (d *document) at() place { return d.place }

// leastText is how many tokens of a long text are shown at the least.
const leastText = 64

func (d *document) cost(o Options) (wanted, least int) {
	return d.tokens, min(d.tokens, d.frame(o.Counter)+leastText)
}

func (d *document) build(o Options, limit int) (message.Block, Part, error) {
	part := Part{Tokens: d.tokens, Changes: d.changes}
	if d.tokens > limit {
		cut, ok := d.cut(o.Counter, limit)
		if !ok {
			return nil, Part{}, d.overTokens(d.tokens, limit)
		}
		part.Cut = &cut
	}
	return message.Text{Text: d.whole}, part, nil
}
