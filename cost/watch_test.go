package cost_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

// step is a call that comes a second after the one before, and what was done before it.
type step struct {
	tokens, read int64
	change       cost.Change
	differs      string // kind of part, "" for none
	same         int64
}

// watched plays steps and returns the parts that were warned of.
func watched(t *testing.T, steps []step) (cost.Watch, []string) {
	t.Helper()
	var w cost.Watch
	var told []string
	for i, s := range steps {
		c := cost.Call{
			At: time.Unix(1e9+int64(i), 0), LongTokens: 2000, SameTokens: s.same,
			Usage: message.Usage{CacheWrite5m: s.tokens - s.read, CacheRead: s.read},
		}
		next, warn := w.Add(c, s.change, cost.Part{Kind: cost.PartKind(s.differs), Message: i}, cost.MarkedTerms(1024))
		if warn {
			told = append(told, next.Worst().String())
		}
		raw, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		w = cost.Watch{}
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatal(err)
		}
	}
	return w, told
}

// rounds are n calls that each read all of the one before, of 6,000 tokens.
func rounds(n int) []step {
	out := make([]step, n)
	for i := range out {
		out[i] = step{tokens: 6000, read: 6000}
	}
	return out
}

func times(n int, steps ...step) []step {
	var out []step
	for range n {
		out = append(out, steps...)
	}
	return out
}

func after(parts ...[]step) []step {
	out := []step{{tokens: 6000}}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestWatch(t *testing.T) {
	head := func(part string) step { return step{tokens: 6000, change: cost.NewHead, differs: part} }
	compacted := step{tokens: 3000, read: 2000, change: cost.NewShape, differs: "message", same: 2000}
	missed := func(part string) step { return step{tokens: 6000, differs: part} }
	tests := []struct {
		name  string
		steps []step
		want  []string
	}{
		{"one call", after(), nil},
		{"all is found", after(rounds(9)), nil},
		{"another system prompt once", after(rounds(2), []step{head("system")}, rounds(2)), nil},
		{"another model and back", after(rounds(1), []step{head("model")}, rounds(1), []step{head("model")}, rounds(1)), nil},
		{"another system prompt every turn", after(times(11, head("system"))), []string{"system"}},
		{"other tools in every turn of five rounds", after(times(9, append(rounds(4), head("tools"))...)), []string{"tools"}},
		{"another system prompt now and then", after(times(9, append(rounds(24), head("system"))...)), nil},
		{"compacted", after(rounds(1), []step{compacted}, rounds(1)), nil},
		{"compacted all the time, as often as it has to be", after(times(40, append(rounds(3), compacted)...)), nil},
		{"compacted before every call", after(times(40, compacted)), []string{"message 7"}},
		{"compacted, and not even the beginning is read", after(times(9, append(rounds(2), step{tokens: 3000, change: cost.NewShape, differs: "settings", same: 2000})...)), []string{"settings"}},
		{"not found for no reason", after(times(3, missed(""))), []string{"nothing that was sent"}},
		{"not found twice", after(times(2, missed("")), rounds(4)), nil},
		{"a message that changes", after(rounds(2), times(3, missed("message")), times(9, missed("message"))), []string{"message 5"}},
		{"what costs most is named", after([]step{missed("message"), {tokens: 60_000, read: 6000}, {tokens: 60_000, differs: "tools"}, missed("message")}), []string{"tools"}},
		{"it does not flap", after(times(3, missed("message")), times(9, append(rounds(9), missed("message"))...)), []string{"message 3"}},
		{"once it was well, it can go wrong again", after(times(3, missed("message")), rounds(200), times(12, missed("system"))), []string{"message 3", "system"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, told := watched(t, tt.steps)
			if diff := cmp.Diff(tt.want, told); diff != "" {
				t.Errorf("warned of (-want +got), at the end %+v:\n%s", w, diff)
			}
		})
	}
}

// What is kept of a request says in what the next one differs, but for its messages.
func TestSketch(t *testing.T) {
	tests := []struct {
		name   string
		change func(*llm.Request)
		want   string
	}{
		{"nothing", func(*llm.Request) {}, ""},
		{"messages", func(r *llm.Request) { r.Messages = r.Messages[:1] }, ""},
		{"model", func(r *llm.Request) { r.Model = "n"; r.System = "" }, "model"},
		{"cache key", func(r *llm.Request) { r.CacheKey = "t" }, "cache key"},
		{"a tool's name", func(r *llm.Request) { r.Tools[0].Name = "reads" }, "tools"},
		{"where a tool's name ends", func(r *llm.Request) { r.Tools[0].Name, r.Tools[0].Description = "readr", "eads" }, "tools"},
		{"a schema", func(r *llm.Request) { r.Tools[0].InputSchema = []byte(`{"type": "object"}`) }, "tools"},
		{"system", func(r *llm.Request) { r.System += " " }, "system"},
		{"thinking", func(r *llm.Request) { r.Thinking = llm.ThinkingHigh }, "settings"},
		{"choice of tools", func(r *llm.Request) { r.ToolChoice = llm.ToolChoiceNone }, "settings"},
		{"images", func(r *llm.Request) { r.Messages[0].Content = r.Messages[0].Content[:1] }, "images"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := conversation()
			tt.change(next)
			part, differs := cost.SketchOf(conversation()).Differs(cost.SketchOf(next))
			if string(part.Kind) != tt.want || differs != (tt.want != "") {
				t.Errorf("%v, %v, want %q", part, differs, tt.want)
			}
		})
	}
	if part, differs := (cost.Sketch{}).Differs(cost.SketchOf(conversation())); differs {
		t.Errorf("there was no request, and %v differs", part)
	}
}
