package fakellm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/llm/llmtest/openaifake"
)

// Where the interfaces begin.
const (
	AnthropicPath = "/anthropic"
	OpenAIPath    = "/openai/v1"
)

// Options changes how a server behaves. The zero value is the strictest server.
type Options struct {
	WindowTokens int  // of every model, to overflow at a given size; 0 leaves the models' own
	Think        bool // answers that call tools begin with thinking: signed, or as reasoning_content
}

// Server is both fakes at one address. Make it with [New].
type Server struct {
	http.Handler

	Anthropic *anthropicfake.Server
	OpenAI    *openaifake.Server

	think bool
	calls atomic.Int64 // makes up ids
}

// New returns a server that has no script yet. Every key is accepted, and none is needed
// for Chat Completions, as with local servers.
func New(opts Options) *Server {
	s := &Server{
		think: opts.Think,
		Anthropic: anthropicfake.New(anthropicfake.Options{
			WindowTokens: opts.WindowTokens, ThinkBeforeTools: opts.Think,
		}),
		OpenAI: openaifake.New(openaifake.Options{
			NoAuth: true, WindowTokens: int64(opts.WindowTokens), TellWindow: opts.WindowTokens > 0, AllowReasoning: opts.Think,
		}),
	}
	mux := http.NewServeMux()
	mux.Handle(AnthropicPath+"/", http.StripPrefix(AnthropicPath, s.Anthropic))
	mux.Handle("/openai/", http.StripPrefix("/openai", s.OpenAI))
	s.Handler = mux
	return s
}

const defaultThinking = "Considering which tool to call."

// Script appends steps for the next requests that pass the checks.
func (s *Server) Script(steps ...Step) {
	for _, step := range steps {
		if s.think && len(step.Calls) > 0 && step.Thinking == "" {
			step.Thinking = defaultThinking
		}
		for range max(1, step.Times) {
			if step.API != OpenAI {
				s.Anthropic.Script(step.anthropicStep(s.calls.Add(1)))
			}
			if step.API != Anthropic {
				s.OpenAI.Script(step.openaiStep())
			}
		}
	}
}

// Seen returns how many requests came, and why those were refused that broke a rule.
func (s *Server) Seen() (requests int, rejected []string) {
	for _, r := range s.Anthropic.Rejected() {
		rejected = append(rejected, fmt.Sprintf("%s %s: %d %s", Anthropic, r.Path, r.Status, r.Reason))
	}
	for _, r := range s.OpenAI.Rejected() {
		rejected = append(rejected, fmt.Sprintf("%s %s: %d rule %s: %s", OpenAI, r.Path, r.Status, r.Rule, r.Reason))
	}
	return len(s.Anthropic.Requests()) + len(s.OpenAI.Requests()), rejected
}

// maxLineBytes bounds a line of a script.
const maxLineBytes = 16 << 20

// ReadScript reads JSON lines. Blank lines and lines that begin with # are skipped. An
// error names the line.
func ReadScript(r io.Reader) ([]Step, error) {
	var steps []Step
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLineBytes)
	for n := 1; scan.Scan(); n++ {
		line := bytes.TrimSpace(scan.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		step, err := readStep(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		steps = append(steps, step)
	}
	return steps, scan.Err()
}

func readStep(line []byte) (Step, error) {
	var step Step
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&step); err != nil {
		return step, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return step, fmt.Errorf("more than one value")
	}
	return step, step.check()
}
