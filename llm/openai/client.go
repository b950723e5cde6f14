package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sessiond/llm"
	"sessiond/message"
)

// DefaultIdleTimeout is long because a local server sends nothing while it reads a
// long prompt.
const DefaultIdleTimeout = 5 * time.Minute

// maxErrorBytes bounds how much of a refusal's body is read.
const maxErrorBytes = 1 << 20

// Options says which server is talked to, and how.
type Options struct {
	// BaseURL is where the interface begins, such as https://api.openai.com/v1.
	BaseURL string
	// APIKey is sent as a bearer token; empty for servers that want none.
	APIKey string
	// Header is added to every request; it may override what is sent otherwise.
	Header http.Header
	// Dialect is how the server speaks; the zero value recognises it by BaseURL.
	Dialect Dialect
	// Windows are the models' windows in tokens, input and output together, where
	// they are known better than the server tells them.
	Windows map[string]int64
	// Prices says what models cost; nil knows none.
	Prices *llm.Prices
	// IdleTimeout is the longest silence within an answer; 0 means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// HTTPClient replaces the client's own. It must not have a timeout of its own,
	// which would end long answers.
	HTTPClient *http.Client
}

// Client talks to one server. Make it with [New].
type Client struct {
	base    string
	dialect Dialect
	header  http.Header
	secrets []string
	windows map[string]int64
	prices  *llm.Prices
	idle    time.Duration
	http    *http.Client

	mu       sync.Mutex
	thinking map[thinkingKey]int         // which of the dialect's members a model takes
	models   map[string]llm.Capabilities // what the server said about its models
}

type thinkingKey struct {
	model string
	level llm.ThinkingLevel
}

var (
	_ llm.Model     = (*Client)(nil)
	_ llm.Describer = (*Client)(nil)
)

// New returns a client; it does not talk to the server yet.
func New(opts Options) (*Client, error) {
	u, err := url.Parse(opts.BaseURL)
	if err != nil {
		return nil, errors.New("the base URL of the model server can't be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("base URL %q: want http(s)://host/path without credentials and query", u.Redacted())
	}
	c := &Client{
		base:     strings.TrimRight(u.String(), "/"),
		dialect:  opts.Dialect,
		header:   make(http.Header),
		windows:  maps.Clone(opts.Windows),
		prices:   opts.Prices,
		idle:     opts.IdleTimeout,
		http:     opts.HTTPClient,
		thinking: make(map[thinkingKey]int),
		models:   make(map[string]llm.Capabilities),
	}
	if c.dialect.Name == "" {
		c.dialect = DialectFor(opts.BaseURL)
	}
	if c.idle == 0 {
		c.idle = DefaultIdleTimeout
	}
	if c.http == nil {
		c.http = newHTTPClient()
	}
	c.header.Set("Content-Type", "application/json")
	c.header.Set("User-Agent", "sessiond")
	if opts.APIKey != "" {
		c.header.Set("Authorization", "Bearer "+opts.APIKey)
		c.secrets = append(c.secrets, opts.APIKey)
	}
	for name, values := range opts.Header {
		c.header[http.CanonicalHeaderKey(name)] = values
		for _, v := range values {
			if len(v) >= minSecretBytes {
				c.secrets = append(c.secrets, v)
			}
		}
	}
	return c, nil
}

// minSecretBytes is the length from which a configured header may be a credential.
const minSecretBytes = 8

// Dialect returns how the client speaks to its server.
func (c *Client) Dialect() Dialect { return c.dialect }

// newHTTPClient keeps enough connections open that concurrent sessions need not
// connect for each call. It has no timeout: how long an answer takes is the session's
// affair, and silence is watched for.
func newHTTPClient() *http.Client {
	const idlePerHost = 64
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = idlePerHost
	return &http.Client{Transport: t}
}

// Stream sends the request and reads the answer; see [llm.Model]. It sends a request a
// second time only where the server refused, before any work, how it was asked about
// reasoning.
func (c *Client) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	key := thinkingKey{req.Model, req.Thinking}
	members := c.dialect.thinkingMembers(req.Thinking, req.Model)
	for i := c.knownThinking(key); ; i++ {
		resp, err := c.try(ctx, req, members[i], emit)
		if e, ok := llm.AsError(err); ok && i+1 < len(members) && refusesMember(e, members[i]) {
			continue
		}
		if err == nil && i > 0 {
			c.rememberThinking(key, i)
		}
		return resp, err
	}
}

func (c *Client) knownThinking(key thinkingKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.thinking[key]
}

func (c *Client) rememberThinking(key thinkingKey, i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thinking[key] = i
}

// refusesMember reports whether the request was refused for the member.
func refusesMember(e *llm.Error, member string) bool {
	if e.Class != llm.ClassInvalid || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	_, rest, _ := strings.Cut(member, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	text := strings.ToLower(e.Message)
	if strings.Contains(text, memberReasoningContent) { // 8.15, another matter
		return false
	}
	return strings.Contains(text, name) || strings.Contains(text, "effort") ||
		strings.Contains(text, "support thinking") || strings.Contains(text, "reasoning is mandatory")
}

// try makes one call.
func (c *Client) try(ctx context.Context, req *llm.Request, thinking string, emit func(llm.Delta)) (*llm.Response, error) {
	body := c.dialect.appendRequest(nil, req, thinking)
	watched, w := watch(ctx, c.idle)
	defer w.stop()
	httpReq, err := http.NewRequestWithContext(watched, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Class: llm.ClassInvalid, Err: fmt.Errorf("make request: %w", err)}
	}
	httpReq.Header = c.header.Clone()
	httpReq.Header.Set("Accept", "text/event-stream")
	httpResp, err := c.http.Do(httpReq)
	if err != nil {
		return nil, c.broken(ctx, watched, err)
	}
	defer func() { _ = httpResp.Body.Close() }()
	if httpResp.StatusCode != http.StatusOK {
		return nil, c.refusal(ctx, httpResp)
	}
	a := newAnswer(emit)
	fail, err := a.read(w.reader(httpResp.Body))
	if err != nil {
		return c.spent(req, a), c.broken(ctx, watched, err)
	}
	w.drain(httpResp.Body)
	if fail != nil {
		return c.spent(req, a), fail.asError(c.secrets)
	}
	return c.judge(req, a, len(body))
}

// spent is what a server had counted of an answer that came to nothing. Most servers
// count at the end, and so nothing.
func (c *Client) spent(req *llm.Request, a *answer) *llm.Response {
	return llm.Spent(c.priced(req.Model, a.normalUsage()))
}

// priced fills in the cost; one that the server named stays if no price is known.
func (c *Client) priced(model string, u message.Usage) message.Usage {
	if cost, known := c.prices.Cost(model, u); known {
		u.CostUSD = cost
	}
	return u
}

// refusal reads an answer that is none.
func (c *Client) refusal(ctx context.Context, httpResp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(httpResp.Body, maxErrorBytes))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("chat completion: %w", ctx.Err())
	}
	fail, _ := parseFailure(raw, true)
	fail.status = httpResp.StatusCode
	fail.retryAfter = llm.RetryAfter(httpResp.Header)
	return fail.asError(c.secrets)
}

// oursToTell reports whether an error is one of this package, whose words hold no
// addresses.
func oursToTell(err error) bool {
	for _, ours := range []error{errSilent, errUnfinished, errAnswerTooLarge, errEventTooLarge, errNoJSON} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}

// broken is the error of a call without a whole answer. The end of the caller's
// context comes before everything else.
func (c *Client) broken(ctx, watched context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("chat completion: %w", ctx.Err())
	}
	if cause := context.Cause(watched); errors.Is(cause, errSilent) {
		err = fmt.Errorf("%w for %v", errSilent, c.idle)
	}
	e := &llm.Error{Class: llm.ClassNetwork, Err: err}
	if !oursToTell(err) {
		e.Message = llm.NetworkMessage(err)
	}
	return e
}
