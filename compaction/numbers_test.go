package compaction

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
)

func TestDefaultsAreTheContract(t *testing.T) {
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	b := newDesk(t).p.Budget(Limits{MaxOutputTokens: 8_192}, 0)
	want := Budget{
		Limit: 25_000, Input: 25_000, Output: 8_192, Buffer: 13_000, Threshold: 12_000, Headroom: 12_000, Landing: 7_200,
		High: 19_800, Edge: 22_400, SummaryCap: 1_800, LedgerCap: 1_200, Share: 4_200, PinnedMax: 6_250,
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	tests := []struct {
		key    string
		change func(*Config)
	}{
		{"context_tokens_limit", func(c *Config) { c.ContextTokensLimit = 3_999 }},
		{"auto_compact_buffer_tokens", func(c *Config) { c.AutoCompactBufferTokens = 25_000 }},
		{"auto_compact_buffer_tokens", func(c *Config) { c.AutoCompactBufferTokens = -1 }},
		{"landing_ratio", func(c *Config) { c.LandingRatio = 1 }},
		{"landing_ratio", func(c *Config) { c.LandingRatio = math.NaN() }},
		{"retention.min_tokens", func(c *Config) { c.Retention.MinTokens = -1 }},
		{"retention.min_text_block_messages", func(c *Config) { c.Retention.MinTexts = -1 }},
		{"retention.max_tokens", func(c *Config) { c.Retention.MaxTokens = 9_999 }},
		{"microcompact.idle", func(c *Config) { c.Microcompact.Idle = 0 }},
		{"microcompact.keep", func(c *Config) { c.Microcompact.Keep = -1 }},
		{"microcompact.tools[1]", func(c *Config) { c.Microcompact.Tools = []string{"read", " "} }},
		{"tool_result.max_tokens", func(c *Config) { c.ToolResult.MaxTokens = 10 }},
		{"tool_result.head", func(c *Config) { c.ToolResult.HeadPercent = 81 }},
		{"tool_result.head", func(c *Config) { c.ToolResult.HeadPercent, c.ToolResult.TailPercent = 0, 0 }},
		{"tool_result.tail", func(c *Config) { c.ToolResult.TailPercent = -1 }},
		{"recovery.max_files", func(c *Config) { c.Recovery.MaxFiles = -1 }},
		{"recovery.max_tokens", func(c *Config) { c.Recovery.MaxTokens = -1 }},
		{"recovery.max_tokens_per_file", func(c *Config) { c.Recovery.MaxTokensPerFile = -1 }},
		{"attachments.session_memory_tokens", func(c *Config) { c.Attachments.SessionMemoryTokens = -1 }},
		{"attachments.session_memory_entries", func(c *Config) { c.Attachments.SessionMemoryEntries = -1 }},
		{"summary.max_tokens", func(c *Config) { c.SummaryMaxTokens = -1 }},
		{"summary.user_ledger", func(c *Config) { c.SummaryUserLedger = -1 }},
		{"ewma.alpha", func(c *Config) { c.EWMAAlpha = 0 }},
	}
	for _, tt := range tests {
		c := DefaultConfig()
		tt.change(&c)
		_, err := New(c, quarter{}, "quarter")
		var bad *KeyError
		if !errors.As(err, &bad) || bad.Key != tt.key || !strings.HasPrefix(err.Error(), tt.key+": ") {
			t.Errorf("%s: %v", tt.key, err)
		}
	}
	c := Config{}
	if n := strings.Count(c.Validate().Error(), "\n"); n < 5 {
		t.Errorf("%d problems of an empty configuration are told, not all", n)
	}
}

func TestSessionLimits(t *testing.T) {
	c := DefaultConfig()
	c.ContextTokensLimit, c.AutoCompactBufferTokens = 64_000, 20_000
	tests := []struct {
		name   string
		limits Limits
		key    string // of the error, or
		buffer int
	}{
		{"as configured", Limits{}, "", 20_000},
		{"a smaller limit", Limits{ContextTokens: 10_000}, "", 5_200},
		{"a smaller limit with a buffer", Limits{ContextTokens: 10_000, BufferTokens: 2_000}, "", 2_000},
		{"a larger limit", Limits{ContextTokens: 100_000}, "", 20_000},
		{"a learned window", Limits{WindowTokens: 30_000, MaxOutputTokens: 2_000}, "", 13_000},
		{"a small learned window", Limits{WindowTokens: 4_096, MaxOutputTokens: 2_000}, "", 3_072 * 520 / 1000},
		{"too small", Limits{ContextTokens: 100}, "context_tokens_limit", 0},
		{"negative buffer", Limits{BufferTokens: -1}, "auto_compact_buffer_tokens", 0},
		{"buffer over limit", Limits{ContextTokens: 8_000, BufferTokens: 8_000}, "auto_compact_buffer_tokens", 0},
	}
	p, err := New(c, quarter{}, "quarter")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := c.CheckLimits(tt.limits)
			var bad *KeyError
			if tt.key != "" {
				if !errors.As(err, &bad) || bad.Key != tt.key {
					t.Errorf("%v, want %s", err, tt.key)
				}
				return
			}
			if got := p.Budget(tt.limits, 0).Buffer; err != nil || got != tt.buffer {
				t.Errorf("buffer %d, %v; want %d", got, err, tt.buffer)
			}
		})
	}
}

// Whatever the limits and the overhead, the numbers are in order and none is negative.
func TestBudgetsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit(t)
		c := DefaultConfig()
		c.ContextTokensLimit = limit
		if rapid.Bool().Draw(t, "set") {
			c.SummaryMaxTokens = rapid.IntRange(0, limit).Draw(t, "summary")
			c.SummaryUserLedger = rapid.IntRange(0, limit).Draw(t, "ledger")
			c.LandingRatio = rapid.Float64Range(0.3, 0.95).Draw(t, "landing")
			c.AutoCompactBufferTokens = rapid.IntRange(0, limit-1).Draw(t, "buffer")
		}
		p, err := New(c, quarter{}, "quarter")
		if err != nil {
			t.Fatal(err)
		}
		l := Limits{WindowTokens: rapid.SampledFrom([]int{0, 4_096, 32_768, 1_000_000}).Draw(t, "window"), MaxOutputTokens: 8_192}
		b := p.Budget(l, rapid.IntRange(0, 2*limit).Draw(t, "overhead"))
		inOrder := b.Overhead <= b.Landing && b.Landing <= b.Threshold && b.Threshold <= b.High && b.High <= b.Edge
		if b.Overhead < b.Input && (!inOrder || b.Edge > b.Input || b.Threshold <= b.Overhead) {
			t.Fatalf("%+v", b)
		}
		if min(b.Input, b.Headroom, b.SummaryCap, b.LedgerCap, b.Share, b.PinnedMax) < 0 || b.Input < 1 {
			t.Fatalf("%+v", b)
		}
		if b.Overhead+b.SummaryCap+b.LedgerCap+b.Share > b.Landing && b.Headroom > 0 && b.Share > 0 {
			t.Fatalf("the parts are more than the landing: %+v", b)
		}
	})
}

func TestLevelsNeverAllowMore(t *testing.T) {
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Retention = Retention{MinTokens: 100, MinTexts: 1, MaxTokens: 500} },
		func(c *Config) { c.Recovery = Recovery{MaxFiles: 1, MaxTokens: 500, MaxTokensPerFile: 400} },
	} {
		c := DefaultConfig()
		change(&c)
		for l := LevelLight; l <= LevelAggressive; l++ {
			above, r := c.rule(l-1), c.rule(l)
			if r.retention.MinTokens > above.retention.MinTokens || r.retention.MinTexts > above.retention.MinTexts ||
				r.retention.MaxTokens > above.retention.MaxTokens || r.sharePercent > above.sharePercent || r.attachments < above.attachments ||
				r.recovery.MaxFiles > above.recovery.MaxFiles || r.recovery.MaxTokens > above.recovery.MaxTokens ||
				r.recovery.MaxTokensPerFile > above.recovery.MaxTokensPerFile || l > LevelLight && r.keepResults >= above.keepResults {
				t.Errorf("level %d allows more than %d: %+v, %+v", l, l-1, r, above)
			}
		}
	}
}

func TestLadder(t *testing.T) {
	var l Ladder
	for want := LevelLight; want <= LevelAggressive; want++ {
		if l = l.Refused(); l.Level != want || l.Spent {
			t.Fatalf("%+v, want level %d", l, want)
		}
	}
	if l = l.Refused(); l.Level != LevelAggressive || !l.Spent {
		t.Errorf("after level 3: %+v", l)
	}
	if got := l.NewTurn(); got.Level != LevelAggressive || got.Spent {
		t.Errorf("in the next turn: %+v", got)
	}
	if got := l.Succeeded(7_201, 7_200); got != l {
		t.Errorf("a success over the landing: %+v", got)
	}
	if got := l.Succeeded(7_200, 7_200); got != (Ladder{}) {
		t.Errorf("a success within the landing: %+v", got)
	}
}

func TestCalibration(t *testing.T) {
	type call struct{ raw, measured int }
	tests := []struct {
		name      string
		start     float64
		calls     []call
		want      float64
		truncated bool // the last one
	}{
		{"unknown family", 0, nil, 1, false},
		{"the first measured call replaces the start", 1.6, []call{{1_000, 1_200}}, 1.2, false},
		{"the first one is out of all reason", 1.6, []call{{1_000, 2_100}}, 1.6, false},
		{"later ones by half", 1, []call{{1_000, 1_000}, {2_000, 2_400}}, 1.1, false},
		{"outside the band", 1, []call{{1_000, 1_000}, {2_000, 3_100}}, 1, false},
		{"two outside that agree", 1, []call{{1_000, 1_000}, {2_000, 3_100}, {2_100, 3_200}}, 1.2619, false},
		{"two outside that do not agree", 1, []call{{1_000, 1_000}, {2_000, 3_100}, {2_100, 4_000}}, 1, false},
		{"nothing measured", 1.3, []call{{1_000, 0}}, 1.3, false},
		{"less than half", 1, []call{{1_000, 1_000}, {40_000, 8_192}}, 1, true},
		{"grew and the count did not", 1, []call{{10_000, 8_192}, {12_000, 8_192}}, 0.8192, true},
		{"shrank after a compaction", 1, []call{{10_000, 10_000}, {4_000, 4_000}}, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := NewCalibration(tt.start)
			truncated := false
			for _, c := range tt.calls {
				k, truncated = k.Measure(c.raw, c.measured)
			}
			if math.Abs(k.Ratio-tt.want) > 0.0001 || truncated != tt.truncated {
				t.Errorf("ratio %v, truncated %v; want %v, %v", k.Ratio, truncated, tt.want, tt.truncated)
			}
		})
	}
}

func TestB67Progress(t *testing.T) {
	const alpha, threshold = 0.3, 12_000
	rounds := func(contexts ...int) Growth {
		var g Growth
		for _, c := range contexts {
			g = g.Round(c, "0", alpha, threshold)
		}
		return g
	}
	across := rounds(1_000, 2_000)
	across = across.Round(500, "1", alpha, threshold)
	tests := []struct {
		name      string
		g         Growth
		context   int
		threshold int
		want      Progress
	}{
		{"before the first round", Growth{}, 0, threshold, Progress{0, threshold, 0, 600, 20, 600}},
		{"the first round seeds nothing", rounds(3_000), 3_000, threshold, Progress{3_000, threshold, 25, 3_600, 15, 600}},
		{"the second one does", rounds(3_000, 4_000), 4_000, threshold, Progress{4_000, threshold, 33.3, 4_720, 12, 720}},
		{"a compaction in between is skipped", across, 500, threshold, Progress{500, threshold, 4.1, 1_220, 16, 720}},
		{"no growth", Growth{Known: true}, 5_000, threshold, Progress{5_000, threshold, 41.6, 5_000, 999, 0}},
		{"hardly any growth", Growth{Known: true, EWMA: 0.001}, 5_000, threshold, Progress{5_000, threshold, 41.6, 5_000, 999, 0.001}},
		{"just below", Growth{}, 11_999, threshold, Progress{11_999, threshold, 99.9, 12_599, 1, 600}},
		{"reached", Growth{}, 12_000, threshold, Progress{12_000, threshold, 100, 12_600, -1, 600}},
		{"exceeded", Growth{}, 18_000, threshold, Progress{18_000, threshold, 150, 18_600, -1, 600}},
		{"a threshold that moved", rounds(3_000, 4_000), 4_000, 3_000, Progress{4_000, 3_000, 133.3, 4_720, -1, 720}},
		{"no threshold", Growth{}, 10, 0, Progress{10, 0, 0, 10, -1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.g.Progress(tt.context, tt.threshold)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if g := rounds(5_000, 4_000); g.EWMA < 0 {
		t.Errorf("growth is %v", g.EWMA)
	}
}

func TestEqualShares(t *testing.T) {
	tests := []struct {
		name        string
		sizes       []int
		room, floor int
		want        []int
	}{
		{"all fit", []int{3, 4}, 10, 0, []int{3, 4}},
		{"small ones stay whole", []int{100, 4_000, 6_000, 50}, 3_150, 0, []int{100, 1_500, 1_500, 50}},
		{"no less than the floor", []int{900, 900}, 100, 500, []int{500, 500}},
		{"smaller than the floor anyway", []int{90, 900}, 100, 500, []int{90, 500}},
		{"no room at all", []int{5, 5}, -7, 0, []int{0, 0}},
		{"nothing", nil, 5, 0, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, equalShares(tt.sizes, tt.room, tt.floor)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlaceholderNamesTheMainArgument(t *testing.T) {
	long := strings.Repeat("ä", 100)
	tests := []struct{ input, want string }{
		{`{"pattern":"x","path":"a.go"}`, "a.go"},
		{`{"file_path":"b.go","command":"c"}`, "b.go"},
		{`{"n":1,"what":"first string","other":"second"}`, "first string"},
		{`{"command":"make\n\ttest"}`, "make test"},
		{`{"path":"  ","url":"u"}`, "u"},
		{`{"n":1}`, ""},
		{`[]`, ""},
		{`{"path":"` + long + `"}`, long[:2*79] + "…"},
	}
	for _, tt := range tests {
		if got := mainArgument([]byte(tt.input)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.input, got, tt.want)
		}
	}
}

func TestUndoIsRefusedWhileATurnRuns(t *testing.T) {
	d, pl := long(t, 20, 400)
	d.carry(pl)
	if u, err := d.p.PlanUndo(d.s, d.situation()); u != nil || !errors.Is(err, ErrTurnRuns) {
		t.Errorf("%v %v", u, err)
	}
}

// While nothing has changed, a compaction that made no progress is not tried again.
func TestVainAttemptsAreNotRepeated(t *testing.T) {
	pl := &Plan{Trigger: TriggerAuto, Level: LevelLight}
	k := Breaker{}.Judged(pl, noProgress(), true, "t")
	if !k.inVain(13_000, LevelLight) || k.inVain(13_000, LevelMedium) || k.inVain(13_001, LevelLight) {
		t.Errorf("%+v", k)
	}
	if k = k.Judged(pl, Judgement{Outcome: OutcomeApplied}, true, "t"); k.Vain != 0 {
		t.Errorf("after a success: %+v", k)
	}
}

func TestMicrocompactNeedsAnAnswer(t *testing.T) {
	d := newDesk(t)
	d.user("go")
	d.now = d.now.Add(24 * time.Hour)
	if c := d.p.Microcompact(d.s, d.situation()); c != nil {
		t.Errorf("%+v", c)
	}
}

// The parts of a request are the whole of it, each attachment named by its kind.
func TestPartsAreTheWhole(t *testing.T) {
	d := newDesk(t)
	d.sit.Overhead = Overhead{System: 100, Tools: 50, Attachments: []Attachment{
		d.p.Attach(Attachment{Kind: AttachAgentPrompt, Version: "1", Text: words("agent", 40)}),
		d.p.Attach(Attachment{Kind: AttachTodoList, Version: "1", Text: words("todo", 30)}),
	}}
	m := d.user(words("one", 200))
	d.s.Inject(Injection{TargetID: m.ID, Attachment: d.sit.Overhead.Attachments[0]})
	d.assistant(message.Thinking{Text: words("hm", 60)}, message.Text{Text: words("two", 80)})
	d.round("read", "{}", words("row", 90))
	sum, named := 0, make(map[string]int)
	for _, p := range d.s.Parts(d.sit.Overhead, 1) {
		sum += p.Tokens
		named[p.Name] = p.Tokens
	}
	c, _ := d.context()
	if sum != c.Tokens() {
		t.Errorf("the parts are %d of %d: %v", sum, c.Tokens(), named)
	}
	if named["agent_prompt"] != 40 || named["todo_list"] != 30 || named["outdated_attachments"] != 0 {
		t.Errorf("parts: %v", named)
	}
}
