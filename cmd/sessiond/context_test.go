package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sessiond/compaction"
	"sessiond/configs"
	"sessiond/llm"
)

func TestDefaultContextIsTheContract(t *testing.T) {
	if diff := cmp.Diff(compaction.DefaultConfig(), contextConfig(configs.Default().Context)); diff != "" {
		t.Errorf("context (-contract +settings):\n%s", diff)
	}
}

// TestBadContextIsRefused by every command that reads settings: all bad values at once,
// together with what is wrong elsewhere, each by its name and line.
func TestBadContextIsRefused(t *testing.T) {
	const file = `llm:
  modell: x
  models: [{name: a, window_tokens: 4095}, {name: b, window_tokens: 4096, max_output_tokens: -1}, c]
context:
  contextTokensLimit: 3999
  auto_compact_buffer_tokens: 3999
  landing_ratio: 1
  retention: {min_tokens: 9, min_text_block_messages: -1, max_tokens: 8}
  microcompact: {idle: 0s, keep: -1, tools: [read, " "]}
  tool_result: {max_tokens: 0, head: 101, tail: -1}
  recovery: {max_files: -1, max_tokens: -1, max_tokens_per_file: -1}
  attachments: {session_memory_tokens: -1, session_memory_entries: -1}
  summary: {max_tokens: -1, user_ledger: -1, timeout: 1ms}
  ewma: {alpha: 0}
  encoding: p50k_base
server: {limits: {instruction_bytes: 8193}}
`
	path := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bad.yaml:2: llm.modell: unknown setting",
		`bad.yaml:15: context.encoding: this version does not know "p50k_base"; it knows o200k_base, cl100k_base`,
		"bad.yaml:13: context.summary.timeout: must be at least 1s",
		"bad.yaml:5: context.context_tokens_limit: must be at least 4000",
		"bad.yaml:6: context.auto_compact_buffer_tokens: must be less than context_tokens_limit (3999)",
		"bad.yaml:7: context.landing_ratio: must be from 0.3 to 0.95",
		"bad.yaml:8: context.retention.min_text_block_messages: must not be negative",
		"bad.yaml:8: context.retention.max_tokens: must be at least 1 and not below retention.min_tokens",
		"bad.yaml:9: context.microcompact.idle: must be more than 0",
		"bad.yaml:9: context.microcompact.keep: must not be negative",
		"bad.yaml:9: context.microcompact.tools[1]: is blank",
		"bad.yaml:10: context.tool_result.max_tokens: must be at least 500",
		"bad.yaml:10: context.tool_result.head: must be from 0 to 100 %",
		"bad.yaml:10: context.tool_result.tail: must be from 0 to 100 %",
		"bad.yaml:11: context.recovery.max_files: must not be negative",
		"bad.yaml:11: context.recovery.max_tokens: must not be negative",
		"bad.yaml:11: context.recovery.max_tokens_per_file: must not be negative",
		"bad.yaml:12: context.attachments.session_memory_tokens: must not be negative",
		"bad.yaml:12: context.attachments.session_memory_entries: must not be negative",
		"bad.yaml:13: context.summary.max_tokens: must not be negative",
		"bad.yaml:13: context.summary.user_ledger: must not be negative",
		"bad.yaml:14: context.ewma.alpha: must be more than 0 and at most 1",
		"bad.yaml:16: server.limits.instruction_bytes: must be at most 8192",
		"bad.yaml:3: llm.models[0].window_tokens: must be at least 4096",
		"bad.yaml:3: llm.models[1].max_output_tokens: must not be negative",
	}
	for _, command := range []string{"serve", "config", "migrate", "health"} {
		code, stdout, stderr := execute(t, nil, command, "--config", path)
		if code != 1 || stdout != "" {
			t.Errorf("%s: exit code %d\n%s", command, code, stdout)
		}
		if diff := cmp.Diff(want, lines(strings.TrimPrefix(stderr, "sessiond: "))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestOptionsOfContext(t *testing.T) {
	cfg := configs.Default()
	cfg.LLM.Models = []configs.Model{{Name: "a"}, {Name: "b", WindowTokens: 32_768}}
	cfg.LLM.SummaryModel = "small"
	cfg.Context.Encoding = "cl100k_base"
	cfg.Context.Summary.UserLedger = 77
	var prices llm.Prices
	cfg.Memory.Tools = false
	o, err := withContext(sessionOptions(cfg, []string{"a", "b"}), cfg, models{provider: configs.ProviderOpenAI, endpoint: "openai http://a", prices: &prices})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"b": 32_768}, o.Windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if o.SummaryModel != "small" || o.Encoding != "cl100k_base" || o.Provider != "openai" || o.Context.SummaryUserLedger != 77 ||
		o.SummaryTimeout != cfg.Context.Summary.Timeout || len(o.Models) != 2 ||
		!o.CacheBreakpoints || o.Prices != &prices || o.Endpoint != "openai http://a" || !o.ExtractMemory || o.MemoryTools {
		t.Errorf("options: %+v", o)
	}
	// The two encodings see this differently.
	if n := o.Counter.Count("Продолжительность разговора"); n != 10 {
		t.Errorf("counted %d tokens", n)
	}
}

// TestEndpoints: two servers of one API are two services, however their address is written.
func TestEndpoints(t *testing.T) {
	tests := []struct {
		llm  configs.LLM
		want string
	}{
		{configs.LLM{Provider: configs.ProviderDemo}, "demo"},
		{configs.LLM{Provider: configs.ProviderAnthropic}, "anthropic"},
		{configs.LLM{Provider: configs.ProviderOpenAI}, "openai https://api.openai.com/v1"},
		{configs.LLM{Provider: configs.ProviderAuto, BaseURL: "http://localhost:11434/v1"}, "openai http://localhost:11434/v1"},
		{configs.LLM{Provider: configs.ProviderOpenAI, BaseURL: "http://localhost:8000/v1/"}, "openai http://localhost:8000/v1"},
		{configs.LLM{Provider: configs.ProviderAnthropic, BaseURL: "http://localhost:8099/"}, "anthropic http://localhost:8099"},
	}
	for _, tt := range tests {
		if got := endpointOf(tt.llm.Resolved(nil)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.llm, got, tt.want)
		}
	}
}

// TestStartTellsTheNumbers in force, of the defaults and of a model with a small window.
func TestStartTellsTheNumbers(t *testing.T) {
	tests := []struct {
		name   string
		window int
		want   map[string]int64
	}{
		{"defaults", 0, map[string]int64{"input_limit": 25_000, "auto_compact_buffer_tokens": 13_000, "threshold": 12_000, "landing": 7_200, "summary_tokens": 1_800, "user_ledger_tokens": 1_200}},
		{"small window", 16_000, map[string]int64{"input_limit": 12_000, "auto_compact_buffer_tokens": 6_240, "threshold": 5_760, "landing": 3_456, "summary_tokens": 864, "user_ledger_tokens": 576}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := configs.Default()
			cfg.LLM.Models = []configs.Model{{Name: "m", WindowTokens: tt.window}}
			o, err := withContext(sessionOptions(cfg, []string{"m"}), cfg, models{provider: configs.ProviderDemo})
			if err != nil {
				t.Fatal(err)
			}
			core, seen := observer.New(zap.InfoLevel)
			if err := announceContext(o, zap.New(core)); err != nil {
				t.Fatal(err)
			}
			entries := seen.All()
			if len(entries) != 1 {
				t.Fatalf("%d lines", len(entries))
			}
			fields := entries[0].ContextMap()
			for name, n := range tt.want {
				if fields[name] != n {
					t.Errorf("%s: got %v, want %d", name, fields[name], n)
				}
			}
			if fields["context_tokens_limit"] != int64(25_000) || fields["encoding"] != "o200k_base" {
				t.Errorf("told: %v", fields)
			}
		})
	}
}

// TestOperatorsKnowAnswersBetter than the provider; the rest is left to it.
func TestOperatorsKnowAnswersBetter(t *testing.T) {
	cfg := configs.Default().LLM.Resolved(nil)
	cfg.Models = []configs.Model{{Name: "demo"}, {Name: "other", MaxOutputTokens: 77}}
	plain, err := pickModels(configs.Default().LLM.Resolved(nil), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	known, err := pickModels(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string]int64{"demo": 0, "other": 77} {
		want := describe(t, plain, name)
		if output > 0 {
			want.MaxOutputTokens = output
		}
		if diff := cmp.Diff(want, describe(t, known, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func describe(t *testing.T, m models, name string) llm.Capabilities {
	t.Helper()
	d, ok := m.model.(llm.Describer)
	if !ok {
		t.Fatalf("%T describes nothing", m.model)
	}
	c, err := d.Capabilities(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
