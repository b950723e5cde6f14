package anthropicfake

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	currentVersion = "2026-10-21"
	oldVersion     = "2023-06-01"

	// bindingBeta lets a request say what is to happen to thinking blocks whose prefix changed.
	bindingBeta = "thinking-binding-controls-2026-08-01"

	maxBodyBytes = 32 << 20
)

// Options changes how a server behaves. The zero value is the strictest server with
// every known model.
type Options struct {
	APIKeys []string         // that are accepted; empty accepts every key
	Models  []Model          // nil means [Models]
	Now     func() time.Time // clock of the prompt cache; nil means time.Now
	Cache   CacheMode        // that answers report; checks are the same in all of them

	// CountText returns the tokens of a text; nil means a token for every four bytes.
	CountText func(text string) int

	// WindowTokens replaces every model's context window, to overflow at a given size.
	WindowTokens int

	// LaxThinking accepts thinking blocks whose prefix changed, as accounts made before
	// the end of August 2026 do.
	LaxThinking bool

	// ThinkBeforeTools puts a signed thinking block before every answer that calls a
	// tool, where the request lets the model think.
	ThinkBeforeTools bool

	// Answer says what the model answers when the script is used up. nil repeats the
	// last words of the user.
	Answer func(req *Request) Step
}

// Request is a request that the server saw.
type Request struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte // nil again once later ones need the room
	Model  string // "" if the body could not be read that far
	Status int    // of the answer, 0 while there is none
	Reason string // the text of the rejection, if a rule was broken
	Usage  Usage  // as it was reported; zero if the request was refused

	Scripted bool // whether the script asked for the status

	usages [cacheModes]Usage
}

// UsageUnder is what the request would have used under a way to cache, given that all
// requests before it were cached that way; zero if it was refused.
func (r *Request) UsageUnder(mode CacheMode) Usage { return r.usages[mode] }

// Server is the fake. Make it with [New].
type Server struct {
	opts   Options
	models map[string]Model

	mu        sync.Mutex
	script    []Step
	requests  []*Request
	kept      int             // bytes of their bodies
	paused    map[digest]bool // conversations that end in an answer the server paused
	cache     caches
	parsed    *memo[*msg]  // messages that passed: a conversation sends them again and again
	described *memo[*tool] // tools that passed
	nextID    int
}

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
	if opts.Answer == nil {
		opts.Answer = echo
	}
	s := &Server{
		opts: opts, models: make(map[string]Model), paused: make(map[digest]bool),
		cache: newCaches(), parsed: newMemo[*msg](20_000), described: newMemo[*tool](1000),
	}
	for _, m := range opts.Models {
		if opts.WindowTokens > 0 {
			m.WindowTokens = opts.WindowTokens
		}
		s.models[m.ID] = m
	}
	return s
}

// Script appends steps for the next requests that pass the checks.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Requests returns every request so far, in order of arrival. The bodies are shared
// and must not be changed.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Rejected returns the requests that broke a rule: those that were answered with a
// status of 400 or more though the script did not ask for it.
func (s *Server) Rejected() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Status < 400 || r.Scripted })
}

var modelPath = regexp.MustCompile(`^/v1/models/([^/]+)$`)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()}
	s.mu.Lock()
	s.requests = append(s.requests, rec)
	s.nextID++
	id := fmt.Sprintf("req_fake%06d", s.nextID)
	s.mu.Unlock()

	w.Header().Set("Request-Id", id)
	status := s.route(w, r, rec)
	s.mu.Lock()
	rec.Status = status
	s.mu.Unlock()
}

// route answers and returns the status that was sent.
func (s *Server) route(w http.ResponseWriter, r *http.Request, rec *Request) int {
	models := r.URL.Path == "/v1/models" || modelPath.MatchString(r.URL.Path)
	messages := r.URL.Path == "/v1/messages"
	count := r.URL.Path == "/v1/messages/count_tokens"
	switch {
	case !models && !messages && !count:
		return refuse(w, notFound("Not Found"))
	case models && r.Method != http.MethodGet, !models && r.Method != http.MethodPost:
		return refuse(w, &apiError{status: http.StatusMethodNotAllowed, kind: errInvalid, message: "Method Not Allowed"})
	}
	if err := s.checkHeaders(r.Header); err != nil {
		return s.reject(w, rec, err)
	}
	if models {
		return s.serveModels(w, r)
	}
	body, err := readBody(w, r)
	if err != nil {
		return s.reject(w, rec, err)
	}
	s.keep(rec, body)
	if count {
		return s.serveCount(w, r.Header, rec)
	}
	return s.serveMessages(w, r, rec)
}

// reject refuses a request that broke a rule.
func (s *Server) reject(w http.ResponseWriter, rec *Request, err *apiError) int {
	s.mu.Lock()
	rec.Reason = err.message
	s.mu.Unlock()
	return refuse(w, err)
}

// maxKeptBytes bounds the bodies that are kept; the oldest go first.
const maxKeptBytes = 256 << 20

func (s *Server) keep(rec *Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Body = body
	s.kept += len(body)
	for i := 0; s.kept > maxKeptBytes && s.requests[i] != rec; i++ {
		s.kept -= len(s.requests[i].Body)
		s.requests[i].Body = nil
	}
}

func (s *Server) checkHeaders(h http.Header) *apiError {
	key := h.Get("X-Api-Key")
	if bearer, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok && key == "" {
		key = bearer
	}
	if key == "" || len(s.opts.APIKeys) > 0 && !slices.Contains(s.opts.APIKeys, key) {
		return &apiError{status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"}
	}
	switch version := h.Get("Anthropic-Version"); version {
	case "":
		return invalid("anthropic-version: header is required")
	case currentVersion, oldVersion:
	default:
		return invalid(`anthropic-version: "%s" is not a valid version`, version)
	}
	for _, beta := range betas(h) {
		if !slices.Contains(knownBetas(), beta) {
			return invalid("Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation at platform.claude.com/docs or try again without the header.", beta)
		}
	}
	return nil
}

func betas(h http.Header) []string {
	var out []string
	for _, line := range h.Values("Anthropic-Beta") {
		for value := range strings.SplitSeq(line, ",") {
			if value = strings.TrimSpace(value); value != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

// knownBetas are those without an effect here, and the one that has one.
func knownBetas() []string {
	return []string{
		bindingBeta, "prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11", "interleaved-thinking-2025-05-14",
		"token-counting-2024-11-01", "fine-grained-tool-streaming-2025-05-14", "context-1m-2025-08-07",
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, invalid("The request body could not be read")
	}
	if len(body) > maxBodyBytes {
		// The real answer comes from a proxy that closes the connection.
		w.Header().Set("Connection", "close")
		return nil, &apiError{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", message: "Request exceeds the maximum size"}
	}
	return body, nil
}

func (s *Server) serveCount(w http.ResponseWriter, h http.Header, rec *Request) int {
	req, err := s.check(h, rec.Body, true)
	s.note(rec, req)
	if err != nil {
		return s.reject(w, rec, err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"input_tokens": req.tokens})
}

func (s *Server) serveMessages(w http.ResponseWriter, r *http.Request, rec *Request) int {
	req, err := s.check(r.Header, rec.Body, false)
	s.note(rec, req)
	if err != nil {
		return s.reject(w, rec, err)
	}
	if req.maxTokens == 0 { // warms the cache and says nothing
		usage := s.use(req, rec)
		return writeJSON(w, http.StatusOK, wholeMessage(s.messageID(), req.model.ID, nil, "max_tokens", usage))
	}
	step := s.take(rec)
	if step.refusal != nil {
		for name, value := range step.header {
			w.Header().Set(name, value)
		}
		step.refusal.write(w)
		s.mu.Lock()
		defer s.mu.Unlock()
		rec.Scripted = true
		return step.refusal.status
	}
	s.answer(w, r, req, rec, &step)
	return http.StatusOK
}

func (s *Server) note(rec *Request, req *request) {
	if req == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Model = req.modelName
}

// take returns what this request is answered with.
func (s *Server) take(rec *Request) Step {
	s.mu.Lock()
	if len(s.script) > 0 {
		step := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return step
	}
	copied := *rec
	s.mu.Unlock()
	return s.opts.Answer(&copied)
}

// use reads and writes the prompt cache for a request that is being answered.
func (s *Server) use(req *request, rec *Request) Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Status = http.StatusOK // also if the step tears the connection
	rec.usages = s.cache.use(req, s.opts.Now())
	rec.Usage = rec.usages[s.opts.Cache]
	return rec.Usage
}

func (s *Server) messageID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	return fmt.Sprintf("msg_fake%06d", s.nextID)
}
