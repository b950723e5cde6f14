package client

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
)

// RefusedError is what an HTTP server answers instead of connecting.
type RefusedError struct {
	Code   int    // the HTTP status
	Status string // the same as the server writes it, with its words
	Reason string // what the server says of it, empty if it is silent
}

func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return "the server answered " + e.Status
	}
	return "the server answered " + e.Status + ": " + e.Reason
}

// maxReasonBytes is how much of an answer is read for its reason.
const maxReasonBytes = 512

// refused reads an answer: the error that its JSON names, or the first line of its text.
// What is a page was not meant for whoever reads an error.
func refused(resp *http.Response) *RefusedError {
	e := &RefusedError{Code: resp.StatusCode, Status: resp.Status}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/plain" && kind != "application/json" {
		return e
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReasonBytes)) // what came is better than nothing
	var told struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &told) == nil && told.Error != "" {
		e.Reason = told.Error
		return e
	}
	e.Reason, _, _ = strings.Cut(strings.TrimSpace(string(body)), "\n")
	return e
}
