package compaction

import (
	"fmt"
	"slices"
	"strings"

	"sessiond/message"
)

// file is the newest content of a path that the log has: what a read tool returned, or
// what a call wrote there.
type file struct {
	path  string
	unit  int
	call  call
	wrote bool

	looked bool   // text is known
	text   string // empty: there is nothing to show
	whole  int    // tokens that were counted when it was stored, at least those of text
	seq    int64  // of the message that has the content
	tokens int    // set aside for it, heading included
}

// files is what a plan knows about the files of a conversation.
type files struct {
	s      *State
	tools  Tools
	first  int // units from here on are in the view
	before []RecoveredFile
	newest []*file // of each path, newest first
}

// files lists the paths that tools read or wrote, as far back as the view goes, or in
// the whole log if the summary message shows files.
func (s *State) files(tools Tools) *files {
	f := &files{s: s, tools: tools, first: s.boundary()}
	stop := f.first
	if r := s.Record(); r != nil && len(r.Files) > 0 {
		f.before = r.Files
		stop = 0
	}
	seen := make(map[string]bool)
	for u := len(s.conv.units) - 1; u >= stop; u-- {
		calls := s.conv.uses[s.conv.units[u].first]
		for _, c := range slices.Backward(calls) {
			path, wrote := tools.reads(c), false
			if path == "" {
				path, wrote = tools.writes(c), true
			}
			if path == "" || seen[path] || s.failed(s.conv.units[u], c.ID) {
				continue
			}
			seen[path] = true
			f.newest = append(f.newest, &file{path: path, unit: u, call: c, wrote: wrote})
		}
	}
	return f
}

// leaves reports whether a file's content leaves the view when the boundary moves to a
// unit: it is in a unit before that, or was in the summary message.
func (f *files) leaves(x *file, to int) bool {
	if x.unit >= to {
		return false
	}
	return x.unit >= f.first || slices.ContainsFunc(f.before, func(r RecoveredFile) bool { return r.Path == x.path })
}

// look finds a file's content. There is none to show if a later call names the path in
// a tool that may have changed it.
func (f *files) look(x *file) {
	if x.looked {
		return
	}
	x.looked = true
	if f.namedAfter(x) {
		return
	}
	un := f.s.conv.units[x.unit]
	if x.wrote {
		x.text, x.seq = stringMember(x.call.Input, "content"), f.s.conv.items[un.first].Message.Seq
		x.whole = f.s.conv.measured(un.first, x.call.ID)
		return
	}
	it := &f.s.conv.items[un.end-1]
	if r, ok := resultFor(it.Message, x.call.ID); ok {
		x.text, x.seq = strings.TrimSpace(message.JoinText(r.Content)), it.Message.Seq
		x.whole = f.s.conv.measured(un.end-1, x.call.ID)
	}
}

// namedAfter reports whether a call after a file's own names its path, read tools aside.
func (f *files) namedAfter(x *file) bool {
	c := f.s.conv
	for u := len(c.units) - 1; u >= x.unit; u-- {
		calls := c.uses[c.units[u].first]
		for _, later := range slices.Backward(calls) {
			if later.ID == x.call.ID {
				return false
			}
			if strings.Contains(string(later.Input), x.path) && f.tools.reads(later) == "" {
				return true
			}
		}
	}
	return false
}

// failed reports whether a call's result is an error or missing.
func (s *State) failed(u unit, id message.ToolUseID) bool {
	if u.end-u.first < 2 {
		return true
	}
	r, ok := resultFor(s.conv.items[u.end-1].Message, id)
	return !ok || r.IsError
}

func resultFor(m *message.Message, id message.ToolUseID) (message.ToolResult, bool) {
	for _, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok && r.ToolUseID == id {
			return r, true
		}
	}
	return message.ToolResult{}, false
}

// fileHeadTokens is what the heading of a recovered file is expected to cost; content
// gives way where it costs more. Less than minFileTokens of a file are not worth it.
const (
	fileHeadTokens = 40
	minFileTokens  = 100
)

// chooseFiles picks the files to show again when the boundary moves to a unit, newest
// first, within the limits of a level and room raw tokens, and returns what they cost.
func (p *Planner) chooseFiles(f *files, to int, limits Recovery, room int) (chosen []file, total int) {
	room = min(room, limits.MaxTokens)
	for _, x := range f.newest {
		left := min(room-total, limits.MaxTokensPerFile)
		if len(chosen) == limits.MaxFiles || left < minFileTokens {
			break
		}
		if !f.leaves(x, to) {
			continue
		}
		if f.look(x); x.text == "" {
			continue
		}
		one := *x
		one.tokens = min(fileHeadTokens+x.whole, left)
		total += one.tokens
		chosen = append(chosen, one)
	}
	return chosen, total
}

// renderFiles writes the chosen files, each within the tokens set aside for it.
func (p *Planner) renderFiles(chosen []file) (text string, shown []RecoveredFile) {
	var b strings.Builder
	for _, f := range chosen {
		verb := "read"
		if f.wrote {
			verb = "written"
		}
		attrs := []message.Attr{
			{Name: "path", Value: f.path},
			{Name: "note", Value: fmt.Sprintf("as %s at #%d, may have changed", verb, f.seq)},
		}
		total := p.counter.Count(f.text)
		left := f.tokens - p.counter.Count("\n\n"+message.Wrap("file", "", attrs...))
		for ; left > 0; left -= max(left/16, 1) {
			one := "\n\n" + message.Wrap("file", p.shortenOf(f.text, total, left), attrs...)
			if n := p.counter.Count(one); n <= f.tokens {
				b.WriteString(one)
				shown = append(shown, RecoveredFile{Path: f.path, Seq: f.seq, Tokens: n})
				break
			}
		}
	}
	return b.String(), shown
}
