package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"sessiond/configs"
	v1 "sessiond/rpc/v1"
	"sessiond/server"
)

// TestOperationsPageListsEveryMetric of our own, with its labels.
func TestOperationsPageListsEveryMetric(t *testing.T) {
	cfg := configs.Default()
	log := zap.NewNop()
	m, err := pickModels(cfg.LLM.Resolved(nil), log)
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context(), parts{
		listen: "127.0.0.1:0", databaseURL: "sqlite:" + filepath.Join(t.TempDir(), "sessiond.db"), models: m,
		options: sessionOptions(cfg, m.names), edge: server.Options{Version: "test", Limits: v1.DefaultLimits()}, log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	registry, ok := s.metrics.(*prometheus.Registry)
	if !ok {
		t.Fatalf("the metrics are a %T", s.metrics)
	}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		registry.Describe(descriptions)
	}()
	described := regexp.MustCompile(`fqName: "(sessiond_[a-z0-9_]+)".*variableLabels: \{([a-z_,]*)\}`)
	var want []string
	for d := range descriptions {
		if found := described.FindStringSubmatch(d.String()); found != nil {
			want = append(want, found[1]+" "+found[2])
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(sessiond_[a-z0-9_]+)` \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		got = append(got, row[1]+" "+strings.NewReplacer("`", "", " ", "", "–", "").Replace(row[2]))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-program +docs/operations.md):\n%s", diff)
	}
}

// TestKeysInTheEnvironment are enough to use a real provider, and the start line says so.
// Nothing is sent before somebody asks for it.
func TestKeysInTheEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    string
	}{
		{"nothing", nil, `"provider": "demo", "models": ["demo"], "calls_cost": "nothing"`},
		{"Anthropic", []string{"ANTHROPIC_API_KEY=sk-ant-secret"}, `"provider": "anthropic", "models": ["claude-sonnet-5-5"], "calls_cost": "money"`},
		{"OpenAI", []string{"OPENAI_API_KEY=sk-secret"}, `"provider": "openai", "models": ["gpt-6-sol"], "calls_cost": "money"`},
		{"both", []string{"OPENAI_API_KEY=sk-secret", "ANTHROPIC_API_KEY=sk-ant-secret"}, `"provider": "anthropic"`},
		{
			"Ollama",
			[]string{"SESSIOND_LLM__BASE_URL=http://localhost:11434/v1", "SESSIOND_LLM__MODEL=llama3.2", "OPENAI_API_KEY=sk-secret"},
			`"provider": "openai", "models": ["llama3.2"], "calls_cost": "nothing that is known here"`,
		},
		{
			"a model without a price",
			[]string{"OPENAI_API_KEY=sk-secret", "SESSIOND_LLM__MODEL=gpt-99"},
			`"models": ["gpt-99"], "calls_cost": "money; the price of gpt-99 is not known (llm.pricing)"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			database := "SESSIOND_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "sessiond.db")
			s := startServer(t, append([]string{"SESSIOND_LISTEN=127.0.0.1:0", database}, tt.environ...))
			s.stop()
			if said := s.stderr.String(); !strings.Contains(said, tt.want) || strings.Contains(said, "secret") {
				t.Errorf("the log says nothing of %s:\n%s", tt.want, said)
			}
		})
	}
}
