package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"sessiond/llm/llmtest/fakellm"
)

// fakeLLM serves the strict fakes of the providers' APIs until ctx ends.
func (p *program) fakeLLM(ctx context.Context, args []string) error {
	fs := p.flags("fake-llm")
	listen := fs.String("listen", "127.0.0.1:8099", "loopback address, host:port")
	script := fs.String("script", "", "file of JSON lines that says what is answered (docs/fakes.md)")
	window := fs.Int("window", 0, "context window of every model in tokens; 0 leaves the models their own")
	think := fs.Bool("think", false, "answers that call tools begin with thinking")
	if err := parse(fs, args, 0); err != nil {
		return err
	}
	if err := onLoopback(*listen); err != nil {
		return err
	}
	if *window < 0 {
		return &usageError{"fake-llm: --window is negative"}
	}
	steps, err := readScript(*script)
	if err != nil {
		return err
	}
	fakes := fakellm.New(fakellm.Options{WindowTokens: *window, Think: *think})
	fakes.Script(steps...)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := p.tellFakes(listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return errors.Join(serveUntil(ctx, listener, fakes), p.tellSeen(fakes))
}

// serveUntil serves until ctx ends, and then cuts off what is still being answered.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// onLoopback refuses an address that others can reach: the fakes let everybody in.
func onLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return &usageError{"fake-llm: --listen: " + err.Error()}
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &usageError{fmt.Sprintf("fake-llm: %s is no loopback address", addr)}
	}
	return nil
}

func readScript(name string) ([]fakellm.Step, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	steps, err := fakellm.ReadScript(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return steps, nil
}

// tellFakes prints where the fakes are and how a server is pointed at them.
func (p *program) tellFakes(addr string) error {
	anthropic, openai := "http://"+addr+fakellm.AnthropicPath, "http://"+addr+fakellm.OpenAIPath
	_, err := fmt.Fprintf(p.stdout, `Fakes of two APIs are ready. Base URLs:

  Messages API       %s
  Chat Completions   %s

In another terminal, start the server on one of them:

  SESSIOND_LLM__PROVIDER=anthropic SESSIOND_LLM__BASE_URL=%s SESSIOND_LLM__API_KEY=fake SESSIOND_LLM__MODEL=claude-sonnet-5-5 ./dist/sessiond
  SESSIOND_LLM__PROVIDER=openai SESSIOND_LLM__BASE_URL=%s SESSIOND_LLM__MODEL=gpt-4.1 ./dist/sessiond

`, anthropic, openai, anthropic, openai)
	return err
}

// tellSeen prints what the fakes thought of the requests.
func (p *program) tellSeen(fakes *fakellm.Server) error {
	requests, rejected := fakes.Seen()
	_, err := fmt.Fprintf(p.stdout, "%d requests, %d rejected\n", requests, len(rejected))
	if len(rejected) > 0 {
		_, err = fmt.Fprintln(p.stdout, strings.Join(rejected, "\n"))
	}
	return err
}
