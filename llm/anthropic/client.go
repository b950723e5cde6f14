package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"go.uber.org/zap"

	"sessiond/llm"
)

// Provider is the name that thinking blocks of this package carry.
const Provider = "anthropic"

// DefaultIdleTimeout is how long a server may be silent. The API pings long before.
const DefaultIdleTimeout = 3 * time.Minute

// Options is what a client needs to know. Only APIKey is required.
type Options struct {
	APIKey string

	// BaseURL is where the API is; empty means Anthropic's own.
	BaseURL string

	// KeyHeader is the header that carries the key as it is, for servers that do not
	// take it as a bearer token, like x-api-key.
	KeyHeader string

	HTTPClient  *http.Client     // nil means one of our own
	Prices      *llm.Prices      // nil leaves costs at 0
	IdleTimeout time.Duration    // 0 means DefaultIdleTimeout
	Logger      *zap.Logger      // nil logs nothing
	Now         func() time.Time // when to ask again about models; nil means time.Now
}

// Client is the model. Make it with [New].
type Client struct {
	sdk    sdk.Client
	key    string
	prices *llm.Prices
	idle   time.Duration
	log    *zap.Logger
	models modelMemory
}

// New returns a client. It connects to nothing and reads no environment.
func New(opts Options) (*Client, error) {
	if opts.APIKey == "" {
		return nil, errors.New("anthropic: the API key is missing")
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = DefaultIdleTimeout
	}
	if opts.Logger == nil {
		opts.Logger = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{Transport: newTransport()}
	}
	settings := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithMaxRetries(0), // retries are the session's: visible and cancellable
		option.WithHTTPClient(opts.HTTPClient),
	}
	if opts.BaseURL != "" {
		u, err := url.Parse(opts.BaseURL)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("anthropic: base URL %q is not an absolute URL", opts.BaseURL)
		}
		settings = append(settings, option.WithBaseURL(opts.BaseURL))
	}
	if opts.KeyHeader != "" {
		settings = append(settings, option.WithHeader(opts.KeyHeader, opts.APIKey))
	} else {
		settings = append(settings, option.WithAPIKey(opts.APIKey))
	}
	return &Client{
		sdk: sdk.NewClient(settings...), key: opts.APIKey, prices: opts.Prices, idle: opts.IdleTimeout,
		log: opts.Logger, models: modelMemory{now: opts.Now, byName: make(map[string]remembered)},
	}, nil
}

func newTransport() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone() // a pool of our own, closed by nobody else
	}
	return http.DefaultTransport
}

// Stream sends one request and reads its answer; see [llm.Model]. The first call for
// a model also asks the models endpoint about it.
func (c *Client) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	about, err := c.describe(ctx, req.Model)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		c.log.Warn("models endpoint failed, using the built-in table", zap.String("model", req.Model), zap.Error(err))
	}
	body, err := encode(req, about)
	if err != nil {
		return nil, &llm.Error{Class: llm.ClassInvalid, Message: err.Error()}
	}
	watched, watch := newWatch(ctx, c.idle)
	defer watch.stop()
	resp, err := c.receive(watched, watch, body, emit)
	if resp != nil {
		resp.Usage.CostUSD, _ = c.prices.Cost(req.Model, resp.Usage)
	}
	if err != nil {
		return resp, c.failure(ctx, watched, err)
	}
	return resp, nil
}

// receive posts the body and assembles the answer. Of one that breaks off it returns
// the usage: message_start counts the request, so most of the cost is known by then.
func (c *Client) receive(ctx context.Context, w *watch, body []byte, emit func(llm.Delta)) (*llm.Response, error) {
	var resp *http.Response
	if err := c.sdk.Post(ctx, "v1/messages", body, &resp); err != nil {
		return nil, err
	}
	w.alive()
	resp.Body = w.body(resp.Body)
	events := ssestream.NewStream[json.RawMessage](ssestream.NewDecoder(resp), nil)
	defer func() { _ = events.Close() }() // the answer is read; what is left is of no interest
	a := newAnswer(emit)
	for !a.stopped && events.Next() {
		if err := a.event(events.Current()); err != nil {
			return llm.Spent(a.usage.usage()), err
		}
	}
	if err := events.Err(); err != nil {
		return llm.Spent(a.usage.usage()), err
	}
	answer, err := a.response()
	if err != nil {
		return llm.Spent(a.usage.usage()), err
	}
	return answer, nil
}

// failure turns whatever ended a call into what the contract promises.
func (c *Client) failure(ctx, watched context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if errors.Is(context.Cause(watched), errSilent) {
		return &llm.Error{Class: llm.ClassNetwork, Message: fmt.Sprintf("the provider sent nothing for %s", c.idle), Err: errSilent}
	}
	return classify(err, c.key)
}

func ended(ctx context.Context) error { return fmt.Errorf("anthropic: %w", ctx.Err()) }
