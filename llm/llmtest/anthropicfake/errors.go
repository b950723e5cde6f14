package anthropicfake

import (
	"encoding/json"
	"fmt"
	"net/http"
)

const errInvalid = "invalid_request_error"

// apiError is an answer that is an error.
type apiError struct {
	status  int
	kind    string
	message string
	code    string // details.error_code, if it has one
	plain   []byte // sent as it is in place of JSON: the page of a proxy
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.kind, e.message) }

func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: errInvalid, message: fmt.Sprintf(format, args...)}
}

func notFound(message string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: "not_found_error", message: message}
}

// body is the JSON of the error, also used inside a stream.
func (e *apiError) body(requestID string) []byte {
	inner := map[string]any{"type": e.kind, "message": e.message}
	if e.code != "" {
		inner["details"] = map[string]any{"error_code": e.code}
	}
	return marshal(map[string]any{"type": "error", "error": inner, "request_id": requestID})
}

func (e *apiError) write(w http.ResponseWriter) {
	body := e.plain
	if body == nil {
		w.Header().Set("Content-Type", "application/json")
		body = e.body(w.Header().Get("Request-Id"))
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // the client is gone if this fails
}

func refuse(w http.ResponseWriter, err *apiError) int {
	err.write(w)
	return err.status
}

func writeJSON(w http.ResponseWriter, status int, value any) int {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(value)) // the client is gone if this fails
	return status
}

// marshal is for values made here, which are always encodable.
func marshal(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("anthropicfake: %v", err))
	}
	return raw
}
