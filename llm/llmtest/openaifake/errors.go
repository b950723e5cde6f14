package openaifake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is a rejection. rule is the number of the rule that was broken, for tests.
type apiError struct {
	rule    string
	status  int
	kind    string
	param   string // "" is null on the wire
	code    string // "" is null on the wire
	message string
}

const kindInvalid = "invalid_request_error"

func (e *apiError) Error() string {
	return fmt.Sprintf("rule %s: %d %s: %s", e.rule, e.status, e.param, e.message)
}

func invalid(rule, param, code, format string, args ...any) *apiError {
	return &apiError{
		rule: rule, status: http.StatusBadRequest, kind: kindInvalid,
		param: param, code: code, message: fmt.Sprintf(format, args...),
	}
}

// Shape is how a server writes its errors.
type Shape int

// The shapes.
const (
	ShapeOpenAI Shape = iota // {"error": {message, type, param, code}}
	ShapeFlat                // {"object": "error", message, type, param, code: 400}, old vLLM
	ShapeText                // {"error": "message"}, LM Studio
	ShapeRouter              // {"error": {code: 400, message, metadata}}, OpenRouter
	ShapeList                // [{"error": {code: 400, message, status}}], Gemini
)

// body writes the error. The order of members does not matter to anybody.
func (e *apiError) body(shape Shape) []byte {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	var v any
	switch shape {
	case ShapeOpenAI:
		v = object{"error": object{"message": e.message, "type": e.kind, "param": null(e.param), "code": null(e.code)}}
	case ShapeFlat:
		v = object{"object": "error", "message": e.message, "type": "BadRequestError", "param": nil, "code": e.status}
	case ShapeText:
		v = object{"error": e.message}
	case ShapeRouter:
		v = object{
			"error": object{"code": e.status, "message": "Provider returned error", "metadata": object{
				"raw": string(e.body(ShapeOpenAI)), "provider_name": "Fake",
			}},
			"user_id": "user_fake",
		}
	case ShapeList:
		v = []any{object{"error": object{"code": e.status, "message": e.message, "status": "INVALID_ARGUMENT"}}}
	}
	return encode(v)
}

type object = map[string]any

// encode is json.Marshal for values that always have a JSON form; like real servers it
// leaves <, > and & alone.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("openaifake: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
