package chat

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

var update = flag.Bool("update", false, "rewrite the want of the golden cases; read them before committing")

// Each case in testdata is a rule: its words, a script of what was typed and what happened,
// and what is shown.
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
			got := play(t, string(ar.Files[0].Data))
			if *update {
				ar.Files = []txtar.File{ar.Files[0], {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// play plays a script:
//
//	> TEXT              types a line; \n is a line break in it
//	^C                  presses Ctrl-C
//	show                shows what is not finished: the open line, live lines, status, meter
//	ENTRY TURN JSON     an entry of the log, named by its type; TURN may be -
//	delta ITEM FROM TEXT    a piece of text, as JSON string; delta.thinking and delta.input
//	EVENT JSON          any other event, named by its type in lower case
//
// Entries are numbered from 1; "at N" sets the number of the next one.
func play(t *testing.T, script string) string {
	t.Helper()
	p := player{t: t, view: NewView(time.UTC)}
	for step := range strings.Lines(script) {
		step = strings.TrimSuffix(step, "\n")
		if step == "" || strings.HasPrefix(step, "#") {
			continue
		}
		p.step(step)
		p.shown()
	}
	return p.out.String()
}

type player struct {
	t    *testing.T
	view *View
	seq  int64
	out  strings.Builder
}

func (p *player) step(step string) {
	p.t.Helper()
	word, rest, _ := strings.Cut(step, " ")
	switch {
	case word == ">":
		fmt.Fprintf(&p.out, "> %s\n", rest)
		p.wanted(p.view.Input(strings.ReplaceAll(rest, `\n`, "\n")))
	case word == "^C":
		fmt.Fprintf(&p.out, "^C\n")
		p.wanted(p.view.Interrupt())
	case word == "show":
		p.unfinished()
	case word == "at":
		p.seq = p.number(rest) - 1
	case word == "start":
		p.wanted(p.view.Start(rest))
	case strings.HasPrefix(word, "delta"):
		p.view.Apply(Streamed{p.delta(word, rest)})
	case strings.Contains(word, "."), word == "command":
		turn, data, _ := strings.Cut(rest, " ")
		p.seq++
		e := v1.Entry{Seq: p.seq, Type: v1.EventType(word), Data: json.RawMessage(data)}
		if turn != "-" {
			e.TurnID = turn
		}
		p.view.Apply(Logged{e})
	default:
		p.view.Apply(p.event(word, rest))
	}
}

func (p *player) number(text string) (n int64) {
	p.t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		p.t.Fatalf("%q is no number", text)
	}
	return n
}

func (p *player) delta(word, rest string) v1.Delta {
	p.t.Helper()
	kinds := map[string]v1.DeltaKind{"delta": v1.DeltaText, "delta.thinking": v1.DeltaThinking, "delta.input": v1.DeltaToolInput}
	fields := strings.SplitN(rest, " ", 3)
	d := v1.Delta{ItemID: fields[0], Kind: kinds[word], From: p.number(fields[1])}
	d.To = d.From + 1
	if err := json.Unmarshal([]byte(fields[2]), &d.Text); err != nil {
		p.t.Fatalf("%s: %v", rest, err)
	}
	return d
}

// failure is how scripts write an error.
type failure struct {
	Text  string        `json:"text"`
	Reply *client.Error `json:"reply"`
	Of    string        `json:"of"`
	N     int           `json:"n"`
	Said  string        `json:"said"`
}

func (f *failure) err() error {
	if f.Reply != nil {
		return fmt.Errorf("call: %w", f.Reply)
	}
	return errors.New(f.Text)
}

func (p *player) event(word, rest string) Event {
	p.t.Helper()
	if rest == "" {
		rest = "{}"
	}
	switch word {
	case "connected":
		return decode[Connected](p.t, rest)
	case "lost":
		f := decode[failure](p.t, rest)
		return Lost{f.err()}
	case "ended":
		f := decode[failure](p.t, rest)
		return Ended{f.err()}
	case "failed":
		f := decode[failure](p.t, rest)
		actions := map[string]Action{"send": Send{N: f.N, Text: f.Said}, "open": Open{}, "compact": Compact{}, "stop": Stop{}}
		return Failed{actions[f.Of], f.err()}
	case "resumed":
		return decode[Resumed](p.t, rest)
	case "reset":
		return Reset{}
	case "opened":
		return decode[Opened](p.t, rest)
	case "activity":
		return Busied{decode[v1.Activity](p.t, rest)}
	case "progress":
		return Progressed{decode[v1.Progress](p.t, rest)}
	case "notice":
		return Noticed{decode[v1.ServerNotice](p.t, rest)}
	case "sent":
		return decode[Sent](p.t, rest)
	case "compacted":
		return decode[Compacted](p.t, rest)
	case "context":
		return decode[ContextTold](p.t, rest)
	case "sessions":
		return decode[SessionsTold](p.t, rest)
	case "memories":
		return decode[MemoriesTold](p.t, rest)
	case "stopped":
		return decode[Stopped](p.t, rest)
	case "done":
		return Done{}
	}
	p.t.Fatalf("what is %q?", word)
	return nil
}

func decode[T any](t *testing.T, raw string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func (p *player) wanted(actions []Action) {
	for _, a := range actions {
		fmt.Fprintf(&p.out, "  do %T%+v\n", a, a)
	}
}

// shown writes the lines that were finished.
func (p *player) shown() {
	for _, l := range p.view.Take() {
		fmt.Fprintf(&p.out, "|%s\n", marked(l))
	}
}

func (p *player) unfinished() {
	if open := p.view.Open(); open != "" {
		fmt.Fprintf(&p.out, "…%s\n", open)
	}
	for _, l := range p.view.Live() {
		fmt.Fprintf(&p.out, "~%s\n", marked(l))
	}
	fmt.Fprintf(&p.out, "= %s", marked(p.view.Meter()))
	for _, text := range []string{p.view.Status(), p.view.Hint(), map[bool]string{true: "idle"}[p.view.Idle()], map[bool]string{true: "left"}[p.view.Left()]} {
		if text != "" {
			fmt.Fprintf(&p.out, " [%s]", text)
		}
	}
	if err := p.view.Err(); err != nil {
		fmt.Fprintf(&p.out, " err: %v", err)
	}
	if err := p.view.Problem(); err != nil {
		fmt.Fprintf(&p.out, " problem: %v", err)
	}
	p.out.WriteString("\n")
}

// marked is a line with its styles.
func marked(l Line) string {
	names := map[Style]string{Plain: "", Dim: "dim", Strong: "strong", Accent: "accent", Good: "good", Warn: "warn", Bad: "bad", Over: "over"}
	var b strings.Builder
	for _, s := range l.Spans {
		if s.Style == Plain {
			b.WriteString(s.Text)
		} else {
			fmt.Fprintf(&b, "<%s %s>", names[s.Style], s.Text)
		}
	}
	return b.String()
}
