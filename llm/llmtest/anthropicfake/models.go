package anthropicfake

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The ways a request can set thinking.
const (
	thinkingAdaptive     = "adaptive"
	thinkingEnabled      = "enabled"
	thinkingDisabled     = "disabled"
	thinkingBetweenTools = "between_tools"
)

// Model is what one model accepts.
type Model struct {
	ID              string
	WindowTokens    int
	MaxOutputTokens int

	Thinking        []string // accepted thinking types
	ThinksAlone     bool     // thinks when the request does not say
	Efforts         []string // accepted efforts, lowest first
	DefaultEffort   string   // when the request does not say
	OffMaxHigh      bool     // can't be kept from thinking at efforts over high
	BoundPrefix     bool     // thinking blocks are bound to the exact prefix
	ForgetsThinking bool     // is not shown what it thought before the user's last words

	CacheMinTokens int
	ForcedTools    bool // takes tool_choice any and tool
	SystemMessages bool // takes messages of role system
	Prefill        bool // takes a final assistant message
	Sampling       bool // takes temperature and its kin on the old version
	OutputCounts   bool // refuses input and max_tokens that are together over the window

	ImageEdge, ImageTokens int // what images are scaled down to
}

const (
	million = 1_000_000
	k128    = 128_000
	k200    = 200_000
	k64     = 64_000
)

// Models returns the models that the API serves.
func Models() []Model {
	all := []string{"low", "medium", "high", "xhigh", "max"}
	base := Model{
		WindowTokens: million, MaxOutputTokens: k128, Thinking: []string{thinkingAdaptive}, ThinksAlone: true,
		Efforts: all, DefaultEffort: "high", CacheMinTokens: 1024, ForcedTools: true, ImageEdge: 2576, ImageTokens: 4784,
	}
	var models []Model
	add := func(change func(*Model), ids ...string) {
		for _, id := range ids {
			m := base
			m.ID = id
			if id == "claude-opus-5-5" || id == "claude-haiku-5-5" {
				m.DefaultEffort = "medium"
			}
			change(&m)
			models = append(models, m)
		}
	}
	add(func(m *Model) { m.BoundPrefix, m.ForcedTools, m.SystemMessages = true, false, true },
		"claude-fable-5-2", "claude-mythos-5-2", "claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5")
	add(func(m *Model) { m.CacheMinTokens, m.SystemMessages = 512, true }, "claude-fable-5", "claude-mythos-5")
	add(func(m *Model) {
		m.BoundPrefix, m.ForcedTools, m.OffMaxHigh = true, false, true
		m.Thinking = []string{thinkingAdaptive, thinkingBetweenTools}
	}, "claude-sonnet-5-5")
	add(func(m *Model) {
		m.BoundPrefix, m.OffMaxHigh = true, true
		m.Thinking = []string{thinkingAdaptive, thinkingDisabled}
	}, "claude-haiku-5-5")
	add(func(m *Model) {
		m.CacheMinTokens, m.SystemMessages, m.OffMaxHigh = 512, true, true
		m.Thinking = []string{thinkingAdaptive, thinkingDisabled}
	}, "claude-opus-5")
	add(func(m *Model) { m.Thinking = []string{thinkingAdaptive, thinkingDisabled} }, "claude-sonnet-5")
	add(func(m *Model) {
		m.ThinksAlone, m.SystemMessages = false, true
		m.Thinking = []string{thinkingAdaptive, thinkingDisabled}
	}, "claude-opus-4-8")
	add(func(m *Model) {
		m.ThinksAlone, m.CacheMinTokens = false, 2048
		m.Thinking = []string{thinkingAdaptive, thinkingDisabled}
	}, "claude-opus-4-7")
	older := func(m *Model) { m.ThinksAlone, m.Sampling, m.ImageEdge, m.ImageTokens = false, true, 1568, 1568 }
	add(func(m *Model) {
		older(m)
		m.Efforts, m.Thinking = []string{"low", "medium", "high", "max"}, []string{thinkingAdaptive, thinkingEnabled, thinkingDisabled}
		m.CacheMinTokens = 4096
		if m.ID == "claude-sonnet-4-6" {
			m.CacheMinTokens = 1024
		}
	}, "claude-opus-4-6", "claude-sonnet-4-6")
	add(func(m *Model) {
		older(m)
		m.WindowTokens, m.MaxOutputTokens, m.Prefill = k200, k64, true
		m.Thinking, m.Efforts, m.CacheMinTokens = []string{thinkingEnabled, thinkingDisabled}, nil, 4096
		switch m.ID {
		case "claude-opus-4-5":
			m.Efforts = []string{"low", "medium", "high"}
		case "claude-sonnet-4-5":
			m.CacheMinTokens = 1024
		}
		m.ForgetsThinking = m.ID != "claude-opus-4-5"
	}, "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")
	return models
}

var datedModel = regexp.MustCompile(`-20\d{6}$`)

func (s *Server) model(name string) (Model, bool) {
	m, ok := s.models[name]
	if !ok {
		m, ok = s.models[datedModel.ReplaceAllString(name, "")]
	}
	return m, ok
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) int {
	if found := modelPath.FindStringSubmatch(r.URL.Path); found != nil {
		m, ok := s.model(found[1])
		if !ok {
			return refuse(w, notFound("model: "+found[1]))
		}
		return writeJSON(w, http.StatusOK, m.info())
	}
	data := make([]any, len(s.opts.Models))
	for i, m := range s.opts.Models {
		data[i] = s.models[m.ID].info()
	}
	out := map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil}
	if n := len(data); n > 0 {
		out["first_id"], out["last_id"] = s.opts.Models[0].ID, s.opts.Models[n-1].ID
	}
	return writeJSON(w, http.StatusOK, out)
}

func (m Model) info() map[string]any {
	supported := func(yes bool) map[string]any { return map[string]any{"supported": yes} }
	thinking := map[string]any{}
	for _, kind := range []string{thinkingAdaptive, thinkingBetweenTools, thinkingDisabled, thinkingEnabled} {
		thinking[kind] = supported(slices.Contains(m.Thinking, kind))
	}
	effort := supported(len(m.Efforts) > 0)
	for _, level := range []string{"low", "medium", "high", "xhigh", "max"} {
		effort[level] = supported(slices.Contains(m.Efforts, level))
	}
	return map[string]any{
		"type": "model", "id": m.ID, "display_name": strings.ReplaceAll(m.ID, "-", " "), "created_at": "2026-01-01T00:00:00Z",
		"max_input_tokens": m.WindowTokens, "max_tokens": m.MaxOutputTokens, "lifecycle": "active",
		"capabilities": map[string]any{
			"image_input": supported(true),
			"effort":      effort,
			"thinking":    map[string]any{"supported": len(m.Thinking) > 0, "types": thinking},
		},
	}
}
