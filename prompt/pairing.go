package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"sessiond/message"
)

// pairCalls gives every tool call exactly one result, first in the user's turn after
// it, and every result its call (rules 1.10 to 1.15, 8.2).
func (b *builder) pairCalls() {
	ids := &idMap{used: make(map[message.ToolUseID]bool)}
	var out []*draft
	var open []*openCall
	for rest := b.drafts; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].role == rest[0].role {
			n++
		}
		turn := rest[:n]
		rest = rest[n:]
		if turn[0].role == message.RoleUser {
			turn = b.answer(turn, open)
			open = nil
		} else {
			open = b.openCalls(turn, ids)
		}
		out = append(out, turn...)
	}
	if len(open) > 0 {
		out = append(out, b.answer(nil, open)...)
	}
	b.drafts = slices.DeleteFunc(out, func(d *draft) bool { return len(d.content) == 0 })
}

// openCall is a tool call that waits for its result.
type openCall struct {
	given message.ToolUseID
	id    message.ToolUseID // that it has now
	at    place
	done  bool
}

// openCalls returns the calls of an assistant's turn, with ids that are valid and their
// own.
func (b *builder) openCalls(turn []*draft, ids *idMap) []*openCall {
	var open []*openCall
	for _, d := range turn {
		for k := range d.content {
			use, ok := d.content[k].Block.(message.ToolUse)
			if !ok {
				continue
			}
			at := d.content[k].at
			c := &openCall{given: use.ID, at: at}
			var rule string
			if c.id, rule = ids.give(use.ID); rule != "" {
				b.repaired(rule, at.String())
				use.ID = c.id
				d.content[k].Block = use
				d.changed = true
			}
			open = append(open, c)
		}
	}
	return open
}

// answer matches the results of a user's turn with the open calls before it. Results
// that answer nothing go, missing ones are made, late ones are moved up. The turn keeps
// at least one message.
func (b *builder) answer(turn []*draft, open []*openCall) []*draft {
	var moved []block
	words := false // a block other than a result was seen in this turn
	for _, d := range turn {
		var kept []block
		for _, c := range d.content {
			r, ok := c.Block.(message.ToolResult)
			if !ok {
				words = true
				kept = append(kept, c)
				continue
			}
			call, rule := match(open, r.ToolUseID)
			if rule != "" {
				b.repaired(rule, c.at.String())
				continue
			}
			if call.done = true; call.id != r.ToolUseID {
				r.ToolUseID = call.id
				c.Block = r
				d.changed = true
			}
			if words {
				b.repaired("1.12", c.at.String())
				moved = append(moved, c)
				continue
			}
			kept = append(kept, c)
		}
		d.changed = d.changed || len(kept) != len(d.content)
		d.content = kept
	}
	for _, call := range open {
		if !call.done {
			b.repaired("1.10", call.at.String())
			moved = append(moved, block{message.ToolResult{
				ToolUseID: call.id, IsError: true, Content: []message.Block{message.Text{Text: noResult}},
			}, made()})
		}
	}
	return b.placeResults(turn, moved)
}

// placeResults puts results behind those that a turn begins with, and takes out the
// messages that have become empty.
func (b *builder) placeResults(turn []*draft, results []block) []*draft {
	if len(turn) == 0 {
		turn = []*draft{{role: message.RoleUser}}
	}
	first := turn[0]
	if len(results) > 0 {
		k := 0
		for k < len(first.content) && isResult(first.content[k].Block) {
			k++
		}
		first.content = slices.Insert(first.content, k, results...)
		first.changed = true
	}
	full := slices.DeleteFunc(slices.Clone(turn), func(d *draft) bool { return len(d.content) == 0 })
	if len(full) == 0 {
		first.content = append(first.content, block{message.Text{Text: emptyMessage}, made()})
		first.changed = true
		full = append(full, first)
	}
	return full
}

func isResult(b message.Block) bool {
	_, ok := b.(message.ToolResult)
	return ok
}

// match finds the first open call that a result can answer, or says which rule it
// breaks.
func match(open []*openCall, id message.ToolUseID) (*openCall, string) {
	rule := "1.11"
	for _, c := range open {
		if c.given != id {
			continue
		}
		if !c.done {
			return c, ""
		}
		rule = "1.14"
	}
	return nil, rule
}

// maxIDBytes is the longest id that Chat Completions take.
const maxIDBytes = 40

// idMap gives calls ids that every provider takes and no other call of the request has.
// What it gives depends on the calls before only.
type idMap struct {
	used map[message.ToolUseID]bool
}

// give returns the id itself, or another and the rule that wants it so.
func (m *idMap) give(id message.ToolUseID) (message.ToolUseID, string) {
	rule := ""
	switch {
	case !id.Portable() || len(id) > maxIDBytes:
		rule = "1.15"
	case m.used[id]:
		rule = "1.14"
	}
	given := id
	for n := 0; rule != "" && (n == 0 || m.used[id]); n++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(n) + "/" + string(given)))
		id = message.ToolUseID("call_" + hex.EncodeToString(sum[:12]))
	}
	m.used[id] = true
	return id, rule
}
