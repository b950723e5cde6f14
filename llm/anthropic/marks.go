package anthropic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// markPlace is where a cache mark stands. The preamble is before every message.
type markPlace struct{ message, block int }

func preamblePlace() markPlace { return markPlace{message: llm.CachePreamble} }

// maxMarks is how many the API takes (rule 5.2).
const maxMarks = 4

// placeMarks returns where the body gets which marks. A request that breaks the rules of
// marks would be refused as a whole, and marks only save money: so those that can't be
// written are left out, of more than four the last four stay, as they reach furthest, and
// a lifetime that would rise stays as it was (rules 5.2 to 5.4).
func placeMarks(req *llm.Request) map[markPlace]time.Duration {
	marks := make(map[markPlace]time.Duration, maxMarks)
	for _, m := range req.CacheMarks {
		place := markPlace{m.Message, m.Block}
		if m.Message == llm.CachePreamble {
			place = preamblePlace()
		}
		if canCarry(req, place) {
			marks[place] = max(marks[place], m.TTL)
		}
	}
	places := make([]markPlace, 0, len(marks))
	for place := range marks {
		places = append(places, place)
	}
	slices.SortFunc(places, func(a, b markPlace) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.block, b.block))
	})
	for len(places) > maxMarks {
		delete(marks, places[0])
		places = places[1:]
	}
	ttl := llm.CacheLong
	for _, place := range places {
		ttl = min(ttl, marks[place])
		marks[place] = ttl
	}
	return marks
}

// canCarry reports whether what stands at a place is written and may have a mark.
func canCarry(req *llm.Request, at markPlace) bool {
	if at == preamblePlace() {
		return req.System != "" || len(req.Tools) > 0
	}
	if at.message < 0 || at.message >= len(req.Messages) {
		return false
	}
	content := req.Messages[at.message].Content
	if at.block < 0 || at.block >= len(content) {
		return false
	}
	switch b := content[at.block].(type) {
	case message.Text:
		return strings.TrimSpace(b.Text) != ""
	case message.Image, message.ToolUse, message.ToolResult:
		return true
	case message.Thinking:
	}
	return false
}
