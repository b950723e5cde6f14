package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sessiond/llm"
)

// maxMessageBytes bounds what is kept of a provider's words.
const maxMessageBytes = 1 << 10

// failure is what a server said went wrong, in whatever shape it said it.
type failure struct {
	status   int // HTTP status; 0 inside a stream, unless the error names one
	kind     string
	code     string
	message  string
	upstream string // what a router passes on of the server behind it
	limit    int64  // llama.cpp's n_ctx

	retryAfter time.Duration
}

// errorBody is the union of the shapes of errors.
type errorBody struct {
	Error   json.RawMessage `json:"error"`  // an object, a text, null, or absent in flat shapes
	Object  looseText       `json:"object"` // "error" in vLLM's flat shape
	Message json.RawMessage `json:"message"`
	Type    looseText       `json:"type"`
	Code    looseText       `json:"code"` // a word, or a number that may be a status
	Status  looseText       `json:"status"`
	Detail  json.RawMessage `json:"detail"` // FastAPI: a text or a list of {msg}
	NCtx    int64           `json:"n_ctx"`  // llama.cpp

	Metadata struct { // OpenRouter
		Raw json.RawMessage `json:"raw"`
	} `json:"metadata"`
}

// decodeLoose is json.Unmarshal that takes what it can: a member of another type than
// expected keeps its zero value and loses nothing else.
func decodeLoose(raw []byte, to any) error {
	err := json.Unmarshal(raw, to)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// parseFailure reads the error out of a body or an event. named says that something
// else already declared it to be one: a status, or the event's name. Without that only
// what no answer looks like is an error; a member "error" that is null is none.
func parseFailure(raw []byte, named bool) (*failure, bool) {
	raw = bytes.TrimSpace(raw)
	if list := []json.RawMessage(nil); len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0] // Gemini
	}
	var body errorBody
	if decodeLoose(raw, &body) != nil {
		return &failure{message: plainText(raw)}, named
	}
	switch inner := string(bytes.TrimSpace(body.Error)); inner {
	case "", "null", "false", `""`, "{}":
		return body.failure(), named || body.Object == "error"
	default:
		var nested errorBody
		if inner[0] != '{' || decodeLoose(body.Error, &nested) != nil {
			return &failure{message: textOf(body.Error)}, true
		}
		return nested.failure(), true
	}
}

func (b *errorBody) failure() *failure {
	f := &failure{
		kind: string(b.Type), code: string(b.Code), message: messageText(b.Message), limit: b.NCtx,
		upstream: messageText(b.Metadata.Raw),
	}
	if f.message == "" {
		f.message = messageText(b.Detail)
	}
	if f.code == "" {
		f.code = string(b.Status)
	}
	// A number is a status that the HTTP status could not be any more.
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n < 600 {
		f.status = n
	}
	return f
}

// messageText reads a message that may be a text, a text holding an error of its own,
// an error object, or a list of complaints about parameters.
func messageText(raw json.RawMessage) string { return nestedText(raw, maxNesting) }

// maxNesting is how deep an error is looked for inside an error.
const maxNesting = 4

func nestedText(raw json.RawMessage, depth int) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		var body errorBody
		if decodeLoose(raw, &body) != nil {
			return ""
		}
		for _, inner := range []json.RawMessage{body.Error, body.Message, body.Detail} {
			if text := nestedText(inner, depth-1); text != "" {
				return text
			}
		}
		return ""
	case '[':
		var list []struct {
			Msg string `json:"msg"`
		}
		if decodeLoose(raw, &list) != nil || len(list) == 0 {
			return ""
		}
		return list[0].Msg
	}
	text := textOf(raw)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if inner := nestedText(json.RawMessage(text), depth-1); inner != "" {
			return inner
		}
	}
	return text
}

// plainText is a body that is no error object as a message: a proxy's short line of
// text is one, a page or broken JSON is not.
func plainText(raw []byte) string {
	text, _, _ := strings.Cut(string(raw), "\n")
	if len(text) > maxMessageBytes || strings.IndexAny(text, "<{[") == 0 || !utf8.ValidString(text) {
		return ""
	}
	return text
}

// words is everything in the error that tells what kind it is.
func (f *failure) words() string {
	return strings.Join([]string{f.code, f.kind, f.message, f.upstream}, " ")
}

// asError judges the failure. secrets are cut out of the provider's words.
func (f *failure) asError(secrets []string) *llm.Error {
	e := &llm.Error{Class: f.class(), Status: f.status, Message: f.shown(secrets)}
	switch {
	case e.Class == llm.ClassOverflow:
		if e.LimitTokens, _ = llm.DetectOverflow(f.status, f.words()); e.LimitTokens == 0 {
			e.LimitTokens = f.limit
		}
	case e.Class.Retryable():
		if e.RetryAfter = f.retryAfter; e.RetryAfter == 0 {
			e.RetryAfter = namedDelay(f.message)
		}
	}
	return e
}

// shown is the provider's message as it may be shown: one bounded line without keys.
func (f *failure) shown(secrets []string) string {
	text := f.message
	if f.upstream != "" && f.upstream != text {
		text += ": " + f.upstream
	}
	if text == "" {
		if text = f.code; text == "" {
			text = f.kind
		}
	}
	if text == "" && f.status != 0 {
		text = http.StatusText(f.status)
	}
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[key]")
	}
	text = regexp.MustCompile(keys).ReplaceAllString(text, "[key]")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxMessageBytes {
		cut := maxMessageBytes
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// keys matches what looks like a key of any provider, whole or masked.
const keys = `\b(?:sk|pk|gsk|xai|key|rk)-[A-Za-z0-9_*.-]{5,}[A-Za-z0-9_*-]|(?i)\bbearer +[^\s"',]{6,}`

// namedDelay reads the wait out of a rate limit's text: "try again in 1m2.5s".
func namedDelay(text string) time.Duration {
	m := regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[\d.]+(?:ms|h|m|s))+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	delay, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return delay
}
