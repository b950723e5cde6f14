package openaifake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Model is a model that the server has.
type Model struct {
	ID              string
	WindowTokens    int64 // 0 means without end
	MaxOutputTokens int64 // 0 means without end
	Reasons         bool  // refuses max_tokens, takes reasoning_effort
	NoImages        bool
}

// Models are those of a server whose options name none.
func Models() []Model {
	return []Model{
		{ID: "gpt-4.1", WindowTokens: 1_047_576, MaxOutputTokens: 32_768},
		{ID: "gpt-4o", WindowTokens: 128_000, MaxOutputTokens: 16_384},
		{ID: "gpt-5", WindowTokens: 272_000, MaxOutputTokens: 128_000, Reasons: true},
		{ID: "gpt-3.5-turbo", WindowTokens: 16_385, MaxOutputTokens: 4_096, NoImages: true},
	}
}

// Overflow is what a server does with a prompt over the window.
type Overflow int

// What servers do.
const (
	OverflowRefused   Overflow = iota // an error says so
	OverflowTruncated                 // the prompt is cut in silence and counts as a whole window (Ollama)
	OverflowEmpty                     // 200 and an answer without content (LM Studio with GGUF models)
)

// Options changes how a server behaves. The zero value is OpenAI's with a few models.
type Options struct {
	APIKeys []string         // that are accepted; empty accepts every key
	NoAuth  bool             // a request needs no key, as with local servers
	Models  []Model          // nil means [Models]; a model named "*" stands for every name
	Now     func() time.Time // clock of the prompt cache; nil means time.Now

	// CountText returns the tokens of a text; nil means a token for every four bytes.
	CountText func(text string) int

	// WindowTokens replaces every model's window, to overflow at a given size.
	WindowTokens int64
	OnOverflow   Overflow
	Shape        Shape // of errors
	TellWindow   bool  // the models list names windows, as vLLM's does

	// RequireReasoning demands reasoning_content on every assistant message that calls
	// tools, as DeepSeek and Kimi do in thinking mode (rule 8.15); without it the member
	// is unknown, as it is to OpenAI, unless AllowReasoning is set.
	RequireReasoning bool
	AllowReasoning   bool

	// Alternate demands that user and assistant take turns, as the chat templates of
	// many open models do.
	Alternate bool

	// OnlyMaxTokens makes max_completion_tokens unknown, as it is to older servers.
	OnlyMaxTokens bool

	NoCache      bool          // nothing is cached
	CacheTTL     time.Duration // of an unused prefix; 0 means 30 minutes
	CountsWrites bool          // usage tells cache_write_tokens

	// Answer says what the model answers when the script is used up. nil repeats the
	// last words of the user.
	Answer func(req *Request) Step
}

// Request is a request that the server saw.
type Request struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte // nil again, as Messages, once later requests need the room
	Status int    // of the answer; 0 while there is none
	Rule   string // that the request broke, "" if it was accepted
	Reason string // the text of the rejection

	// What was read of it, in an accepted request.
	Model    string
	Messages []Message
	Tools    []string // names
	CacheKey string
	Usage    Usage
}

// Message is a message of an accepted request.
type Message struct {
	Role       string
	Text       string // text parts joined
	Images     int
	ToolCallID string // of role tool
	Calls      []Call
	Reasoning  *string // reasoning_content; nil if absent
}

// Usage is what a request cost.
type Usage struct {
	PromptTokens, CachedTokens, CacheWriteTokens, CompletionTokens, ReasoningTokens int64
}

// Server is the fake. Make it with [New].
type Server struct {
	opts   Options
	models []Model

	mu       sync.Mutex
	script   []Step
	requests []*Request
	kept     int // bytes of their bodies
	cache    *promptCache
	answers  int
}

const maxBodyBytes = 32 << 20

// New returns a server.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.CountText == nil {
		opts.CountText = func(text string) int { return (len(text) + 3) / 4 }
	}
	if opts.Models == nil {
		opts.Models = Models()
	}
	if opts.CacheTTL == 0 {
		opts.CacheTTL = 30 * time.Minute
	}
	if opts.Answer == nil {
		opts.Answer = echo
	}
	s := &Server{opts: opts, models: slices.Clone(opts.Models), cache: newPromptCache(opts.CacheTTL)}
	for i := range s.models {
		if opts.WindowTokens > 0 {
			s.models[i].WindowTokens = opts.WindowTokens
		}
	}
	return s
}

func echo(req *Request) Step {
	last := req.Messages[len(req.Messages)-1]
	return Text("You said: " + last.Text)
}

// Script appends steps for the next requests that pass the checks.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Requests returns every request so far, in order of arrival. What they point to is
// shared and must not be changed.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Rejected returns the requests that broke a rule.
func (s *Server) Rejected() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Rule == "" })
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()}
	s.mu.Lock()
	s.requests = append(s.requests, rec)
	s.mu.Unlock()
	if err := s.route(w, r, rec); err != nil {
		s.record(func() { rec.Status, rec.Rule, rec.Reason = err.status, err.rule, err.message })
		writeJSON(w, err.status, err.body(s.opts.Shape))
	}
}

func (s *Server) record(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, rec *Request) *apiError {
	chat := r.URL.Path == "/v1/chat/completions"
	id, one := strings.CutPrefix(r.URL.Path, "/v1/models/")
	switch {
	case !chat && !one && r.URL.Path != "/v1/models",
		chat && r.Method != http.MethodPost, !chat && r.Method != http.MethodGet:
		return &apiError{
			rule: "path", status: http.StatusNotFound, kind: kindInvalid,
			message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
		}
	}
	if err := s.authorise(r.Header); err != nil {
		return err
	}
	switch {
	case chat:
		return s.serveChat(w, r, rec)
	case one:
		m, ok := s.model(id)
		if !ok {
			return noModel(id)
		}
		writeJSON(w, http.StatusOK, encode(s.describe(m)))
	default:
		list := []any{}
		for _, m := range s.models {
			list = append(list, s.describe(m))
		}
		writeJSON(w, http.StatusOK, encode(object{"object": "list", "data": list}))
	}
	s.record(func() { rec.Status = http.StatusOK })
	return nil
}

func (s *Server) authorise(h http.Header) *apiError {
	if s.opts.NoAuth {
		return nil
	}
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	switch {
	case !ok || key == "":
		return &apiError{
			rule: "auth", status: http.StatusUnauthorized, kind: kindInvalid,
			message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
		}
	case len(s.opts.APIKeys) > 0 && !slices.Contains(s.opts.APIKeys, key):
		return &apiError{ // OpenAI masks the key; gateways that copy the text do not
			rule: "auth", status: http.StatusUnauthorized, kind: kindInvalid, code: "invalid_api_key",
			message: fmt.Sprintf("Incorrect API key provided: %s. You can find your API key at https://platform.openai.com/account/api-keys.", key),
		}
	}
	return nil
}

// model finds a model by name.
func (s *Server) model(id string) (Model, bool) {
	for _, m := range s.models {
		if m.ID == id || m.ID == "*" {
			m.ID = id
			return m, true
		}
	}
	return Model{}, false
}

func noModel(id string) *apiError {
	return &apiError{
		rule: "model", status: http.StatusNotFound, kind: kindInvalid, code: "model_not_found",
		message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", id),
	}
}

func (s *Server) describe(m Model) object {
	d := object{"id": m.ID, "object": "model", "created": created, "owned_by": "fake"}
	if s.opts.TellWindow {
		d["max_model_len"] = m.WindowTokens
	}
	return d
}

// created is the same moment in every answer.
const created = 1_790_000_000

// serveChat checks a request and plays the next step.
func (s *Server) serveChat(w http.ResponseWriter, r *http.Request, rec *Request) *apiError {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge {
			panic(http.ErrAbortHandler) // the client has gone
		}
		return &apiError{rule: "size", status: http.StatusRequestEntityTooLarge, kind: kindInvalid, message: "Request too large"}
	}
	s.keep(rec, body)
	p, bad := s.check(body)
	if bad != nil {
		return bad
	}
	step, n := s.accept(rec, p)
	if p.overflow {
		switch s.opts.OnOverflow {
		case OverflowRefused: // check has done so
		case OverflowTruncated:
			p.usage.PromptTokens = p.model.WindowTokens
		case OverflowEmpty:
			step = Step{Finish: "stop"}
		}
	}
	play := &playback{s: s, w: w, r: r, p: p, step: step, id: fmt.Sprintf("chatcmpl-fake%06d", n)}
	usage, status := play.run()
	s.record(func() { rec.Status, rec.Usage = status, usage })
	return nil
}

// maxKeptBytes bounds what is kept of requests; the oldest go first.
const maxKeptBytes = 256 << 20

func (s *Server) keep(rec *Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Body = body
	s.kept += len(body)
	for i := 0; s.kept > maxKeptBytes && s.requests[i] != rec; i++ {
		old := s.requests[i]
		s.kept -= len(old.Body)
		old.Body, old.Messages = nil, nil
	}
}

// accept records what was read of a request and takes the next step. The server's
// lock is not held while Options.Answer runs.
func (s *Server) accept(rec *Request, p *parsed) (Step, int) {
	s.mu.Lock()
	rec.Model, rec.Messages, rec.Tools, rec.CacheKey = p.model.ID, p.messages, p.tools, p.cacheKey
	p.usage = s.cache.use(p.model.ID, p.cacheKey, p.units, s.opts.Now())
	if s.opts.NoCache {
		p.usage.CachedTokens, p.usage.CacheWriteTokens = 0, 0
	}
	if !s.opts.CountsWrites {
		p.usage.CacheWriteTokens = 0
	}
	s.answers++
	n, scripted := s.answers, len(s.script) > 0
	var step Step
	if scripted {
		step = s.script[0]
		s.script = s.script[1:]
	}
	seen := *rec
	s.mu.Unlock()
	if !scripted {
		step = s.opts.Answer(&seen)
	}
	return step, n
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// members splits a JSON object.
func members(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil, false
	}
	return m, true
}
