package compaction

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sessiond/message"
)

var update = flag.Bool("update", false, "rewrite the want of the golden cases; read them before committing")

// Each case in testdata is a rule: its words, a script that plays a session, and what
// the session says. A token is four bytes.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script, want := fileIn(ar, "script"), fileIn(ar, "want")
			got := play(t, script)
			if *update {
				ar.Files = []txtar.File{{Name: "script", Data: []byte(script)}, {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func fileIn(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// stage plays a script.
type stage struct {
	*desk
	out  strings.Builder
	memo []Attachment
}

func play(t *testing.T, script string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(script), "\n")
	cfg := func(c *Config) {
		for _, line := range lines {
			if name, value, ok := strings.Cut(strings.TrimPrefix(line, "config "), " "); ok && strings.HasPrefix(line, "config ") {
				setConfig(t, c, name, value)
			}
		}
	}
	st := &stage{desk: newDesk(t, cfg)}
	for _, line := range lines {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word == "config" || strings.HasPrefix(word, "#") {
			continue
		}
		st.do(word, rest)
	}
	return st.out.String()
}

func setConfig(t *testing.T, c *Config, name, value string) {
	t.Helper()
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatal(err)
	}
	switch name {
	case "limit":
		c.ContextTokensLimit = n
	case "result":
		c.ToolResult.MaxTokens = n
	case "keep":
		c.Microcompact.Keep = n
	case "ledger":
		c.SummaryUserLedger = n
	default:
		t.Fatalf("no setting %q", name)
	}
}

func (st *stage) do(word, rest string) {
	args := strings.Fields(rest)
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			st.t.Fatalf("%s %s: %v", word, rest, err)
		}
		return n
	}
	switch word {
	case "system":
		st.sit.Overhead.System = number(0)
	case "window":
		st.sit.Limits.WindowTokens = number(0)
	case "summary":
		st.notes = number(0)
	case "level":
		st.sit.Ladder.Level = Level(number(0))
	case "tool": // NAME cleanable|kept|reads=PARAM …
		st.registerTools(args)
	case "memory": // WATERMARK TOKENS
		st.sit.Memory = Memory{WatermarkSeq: int64(number(0)), Entries: []MemoryEntry{{ID: "e1", Title: "Progress", Content: words("noted", number(1)), Extracted: true, NewestSeq: int64(number(0))}}}
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			st.t.Fatal(err)
		}
		st.now = st.now.Add(d)
	case "show":
		st.show(args)
	case "attach": // KIND VERSION TOKENS
		st.attachment(AttachmentKind(args[0]), args[1], number(2))
	default:
		if !st.talk(word, rest) && !st.act(word) {
			st.t.Fatalf("no command %q", word)
		}
	}
}

func (st *stage) registerTools(specs []string) {
	yes, no := true, false
	var tools []Tool
	for i := 0; i < len(specs); i += 2 {
		tool := Tool{Name: specs[i]}
		switch how := specs[i+1]; how {
		case "cleanable":
			tool.Cleanable = &yes
		case "kept":
			tool.Cleanable = &no
		default:
			tool.Reads = strings.TrimPrefix(how, "reads=")
		}
		tools = append(tools, tool)
	}
	st.sit.Tools = st.p.Tools(tools)
}

func (st *stage) attachment(kind AttachmentKind, version string, tokens int) {
	a := st.p.Attach(Attachment{Kind: kind, Version: version, Text: words(string(kind)+" "+version, tokens)})
	for i, old := range st.memo {
		if old.Kind == kind {
			st.memo[i] = a
			st.sit.Overhead.Attachments = append([]Attachment(nil), st.memo...)
			return
		}
	}
	st.memo = append(st.memo, a)
	st.sit.Overhead.Attachments = append([]Attachment(nil), st.memo...)
}

// said is a text in quotes, or one of as many tokens.
func (st *stage) said(rest string) string {
	if text, err := strconv.Unquote(rest); err == nil {
		return text
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		st.t.Fatalf("neither a text nor a number: %q", rest)
	}
	return words(fmt.Sprintf("text-%d", st.seq+1), n)
}

// talk adds to the conversation.
func (st *stage) talk(word, rest string) bool {
	switch word {
	case "user":
		st.user(st.said(rest))
		st.sit.Breaker = st.sit.Breaker.UserMessage()
		st.sit.Ladder = st.sit.Ladder.NewTurn()
	case "assistant":
		st.says(st.said(rest))
	case "think":
		st.assistant(message.Thinking{Provider: "p", Text: st.said(rest), Raw: []byte(`{"signature":"x"}`)}, message.Text{Text: "done thinking"})
	case "round": // NAME INPUT TOKENS
		f := strings.Fields(rest)
		n, _ := strconv.Atoi(f[2])
		st.round(f[0], f[1], words("result-"+strconv.Itoa(st.results+1), n))
	case "batch": // TOKENS …
		var calls []message.ToolUse
		var blocks []message.Block
		var results []string
		for f := range strings.FieldsSeq(rest) {
			n, _ := strconv.Atoi(f)
			use := st.use("bash", `{"command":"make"}`)
			calls, blocks = append(calls, use), append(blocks, use)
			results = append(results, words("result-"+strconv.Itoa(st.results), n))
		}
		st.assistant(blocks...)
		st.answer(calls, results...)
	case "repeat": // N round …
		f := strings.SplitN(rest, " ", 3)
		n, _ := strconv.Atoi(f[0])
		for range n {
			st.talk(f[1], strings.ReplaceAll(f[2], "%", strconv.Itoa(st.results+1)))
		}
	default:
		return false
	}
	return true
}

// act decides something and says what.
func (st *stage) act(word string) bool {
	switch word {
	case "inject":
		last := st.s.conv.items[len(st.s.conv.items)-1].Message
		for _, a := range st.s.Due(st.sit.Overhead.Attachments) {
			st.printf("inject %s %s at #%d", a.Kind, a.Version, last.Seq)
			st.s.Inject(Injection{TargetID: last.ID, Attachment: a})
		}
	case "micro":
		c := st.p.Microcompact(st.s, st.situation())
		if c == nil {
			st.printf("micro: nothing")
			break
		}
		st.s.Clear(c)
		st.printf("micro: %s", clearingText(c))
	case "next":
		st.step(st.next())
	case "settle":
		for _, s := range st.settle() {
			st.step(s)
		}
	case "refuse":
		st.sit.Ladder = st.sit.Ladder.Refused()
		st.sit.Trigger = TriggerOverflow
		st.printf("refused: level %d, spent %v", st.sit.Ladder.Level, st.sit.Ladder.Spent)
		st.act("settle")
	case "manual":
		st.manual()
	case "undo":
		st.undo()
	default:
		return false
	}
	return true
}

func (st *stage) manual() {
	pl, reason := st.p.PlanManual(st.s, st.situation())
	if pl == nil {
		st.printf("manual: noop %s", reason)
		return
	}
	_, j := st.carry(pl)
	st.printf("manual: %s %s, %d → %d, leaves #%d–#%d, boundary #%d, pinned #%d", j.Outcome, j.Reason, j.Before, j.After, pl.FromSeq, pl.ThroughSeq, pl.BoundarySeq, pl.PinnedSeq)
}

func (st *stage) undo() {
	sit := st.situation()
	sit.Turn = ""
	u, err := st.p.PlanUndo(st.s, sit)
	switch {
	case err != nil:
		st.printf("undo: %v", err)
	case u == nil:
		st.printf("undo: nothing")
	default:
		if err := st.s.Undo(u); err != nil {
			st.t.Fatal(err)
		}
		st.sit.Breaker = st.sit.Breaker.UndidAt(u.TokensAfter)
		st.printf("undo: generation %d undoes %d, %d → %d", u.Generation, u.Undoes, u.TokensBefore, u.TokensAfter)
	}
}

func (st *stage) printf(format string, args ...any) { fmt.Fprintf(&st.out, format+"\n", args...) }

func (st *stage) step(s Step) {
	switch s.Action {
	case ActionClear:
		st.printf("clear: %s", clearingText(s.Clearing))
	case ActionCompact:
		pl := s.Plan
		st.printf("compact: %s L%d %s, %d → at most %d, landing %d, leaves #%d–#%d, boundary #%d, pinned #%d", pl.Trigger, pl.Level, pl.Writer,
			pl.Before, pl.After, pl.Budget.Landing, pl.FromSeq, pl.ThroughSeq, pl.BoundarySeq, pl.PinnedSeq)
		if r := recordOf(st.s, pl.Generation+1); r != nil {
			st.printf("  %s %s: %d tokens, files %v, cleared %d", r.Outcome, r.Reason, r.TokensAfter, paths(r.Files), len(r.Shape.Cleared))
		}
	case ActionSend, ActionClimb, ActionOverflow:
		st.printf("%s: %d tokens, judged %d, T %d, L′ %d %s", s.Action, s.Context.Tokens(), s.Context.Judged(), s.Budget.Threshold, s.Budget.Input, s.Reason)
	}
}

func paths(files []RecoveredFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s@%d(%d)", f.Path, f.Seq, f.Tokens))
	}
	return out
}

func clearingText(c *Clearing) string {
	var cuts []string
	for _, cut := range c.Cuts {
		cuts = append(cuts, fmt.Sprintf("%s to %d", cut.ID, cut.Cut.Tokens))
	}
	var ids []string
	for _, cl := range c.Cleared {
		ids = append(ids, string(cl.ID))
	}
	return fmt.Sprintf("%s %v, cuts %v, pinned cut %v, %d → %d", c.Reason, ids, cuts, c.Pinned != nil, c.TokensBefore, c.TokensAfter)
}

// show prints a part of what the model sees.
func (st *stage) show(args []string) {
	switch args[0] {
	case "view":
		st.showView()
	case "summary":
		st.printf("%s", st.s.Record().Text)
	case "request":
		pl, _ := st.p.PlanManual(st.s, st.situation())
		r := st.p.StartCall(pl, CallOptions{WindowTokens: 4_096}).Request()
		st.printf("%s\n---\n%s", r.System, r.Prompt)
	case "budget":
		c, b := st.context()
		st.printf("L %d L′ %d buffer %d F %d T %d H %d landing %d high %d edge %d summary %d ledger %d share %d pinned %d, context %d", b.Limit, b.Input, b.Buffer,
			b.Overhead, b.Threshold, b.Headroom, b.Landing, b.High, b.Edge, b.SummaryCap, b.LedgerCap, b.Share, b.PinnedMax, c.Tokens())
	case "parts":
		for _, p := range st.s.Parts(st.sit.Overhead, st.sit.Ratio) {
			if p.Tokens > 0 {
				st.printf("%s %d", p.Name, p.Tokens)
			}
		}
	default:
		st.t.Fatalf("nothing to show: %v", args)
	}
}

func (st *stage) showView() {
	v := st.s.View()
	for i := range v.Messages {
		m := &v.Messages[i]
		name := fmt.Sprintf("#%d", m.Seq)
		switch i {
		case v.Summary:
			name = "summary"
		case v.Pinned:
			name = "pinned " + name
		}
		var blocks []string
		for _, b := range m.Content {
			blocks = append(blocks, st.blockText(b))
		}
		st.printf("%s %s: %s", name, m.Role, strings.Join(blocks, " | "))
	}
}

func (st *stage) blockText(b message.Block) string {
	switch b := b.(type) {
	case message.Text:
		return "text " + st.brief(b.Text)
	case message.Thinking:
		return "thinking " + st.brief(b.Text)
	case message.ToolUse:
		return fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Input)
	case message.ToolResult:
		return fmt.Sprintf("result %s %s", b.ToolUseID, st.brief(message.JoinText(b.Content)))
	case message.Image:
		return "image"
	}
	return ""
}

// brief is a text's size and its beginning.
func (st *stage) brief(text string) string {
	n := st.p.counter.Count(text)
	if i := strings.Index(text, truncated); i >= 0 {
		end := min(i+len(truncated)+20, len(text))
		return fmt.Sprintf("(%d) %s…%s…", n, oneLine(text, 12), oneLine(text[i:end], 60))
	}
	return fmt.Sprintf("(%d) %s", n, oneLine(text, 48))
}
