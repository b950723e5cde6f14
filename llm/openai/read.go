package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"sessiond/llm"
)

// maxAnswerBytes bounds a stream that never ends: no model's output limit comes near.
const maxAnswerBytes = 64 << 20

var (
	errUnfinished     = errors.New("the answer ended without a finish_reason")
	errNoJSON         = errors.New("an event of the answer is no JSON")
	errAnswerTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswerBytes)
)

// read reads a stream to its end. A failure is what the server said; an error is that
// it said nothing to the end: a broken connection, something that is no stream, or an
// end without a finish. The one exception is an answer without anything at all, which
// the caller judges.
func (a *answer) read(body io.Reader) (*failure, error) {
	limited := &io.LimitedReader{R: body, N: maxAnswerBytes}
	events := newEventReader(limited)
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			if limited.N <= 0 {
				return nil, errAnswerTooLarge
			}
			return nil, a.ended(false)
		case err != nil && a.finish != "":
			return nil, nil // the answer is whole, only its usage may be missing
		case err != nil:
			return nil, fmt.Errorf("read answer: %w", err)
		}
		data := bytes.TrimSpace(ev.data)
		if string(data) == "[DONE]" {
			return nil, a.ended(true)
		}
		fail, err := a.take(ev.name, data)
		if fail != nil || err != nil {
			return fail, err
		}
	}
}

// take reads one event.
func (a *answer) take(name string, data []byte) (*failure, error) {
	if named := name == "error"; named || maybeFailure(data) {
		if fail, ok := parseFailure(data, named); ok {
			return fail, nil
		}
	}
	var c chunk
	if err := decodeLoose(data, &c); err != nil {
		return nil, errNoJSON
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if fail, ok := parseFailure(wrapError(ch.Error), false); ok {
			return fail, nil
		}
	}
	a.add(&c)
	switch a.finish {
	case "error":
		return &failure{message: "the model server stopped with an error"}, nil
	case "insufficient_system_resource": // DeepSeek
		return &failure{code: a.finish}, nil
	}
	return nil, nil
}

// maybeFailure spares the many small chunks of an answer a closer look.
func maybeFailure(data []byte) bool {
	return bytes.Contains(data, []byte("error")) || !bytes.Contains(data, []byte(`"choices"`))
}

// wrapError makes an error of a choice look like one of the chunk.
func wrapError(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return append(append([]byte(`{"error":`), raw...), '}')
}

// ended judges the end of a stream. done says that the server declared it.
func (a *answer) ended(done bool) error {
	if a.finish != "" || done && a.empty() {
		return nil
	}
	return errUnfinished
}

// nearlyFull is the share of a window from which an empty answer is taken for a prompt
// that did not fit. Bytes are counted as if four were a token.
const (
	nearlyFull    = 0.9
	bytesPerToken = 4
)

// judge turns a whole answer into a response, or into the error that the server should
// have sent: a prompt cut to the window (its size is then the window's), or an answer
// of nothing to a prompt that can hardly have fitted.
func (c *Client) judge(req *llm.Request, a *answer, requestBytes int) (*llm.Response, error) {
	window := c.window(req.Model)
	resp := a.response(&c.dialect)
	u := resp.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite5m
	if window > 0 {
		sent := max(prompt, int64((requestBytes-imageBytes(req.Messages))/bytesPerToken))
		if prompt >= window || a.empty() && float64(sent) >= nearlyFull*float64(window) {
			return c.spent(req, a), &llm.Error{
				Class: llm.ClassOverflow, LimitTokens: window,
				Message: fmt.Sprintf("the prompt does not fit the model's window of %d tokens and the server dropped a part of it", window),
			}
		}
		if resp.Stop == llm.StopMaxTokens && prompt+u.Output >= window {
			resp.Stop = llm.StopContextWindow
		}
	}
	if a.finish == "" {
		return c.spent(req, a), &llm.Error{Class: llm.ClassNetwork, Err: errUnfinished}
	}
	resp.Usage = c.priced(req.Model, u)
	return resp, nil
}
