package openaifake

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// parsed is a request that broke no rule.
type parsed struct {
	model        Model
	messages     []Message
	tools        []string
	cacheKey     string
	stream       bool
	includeUsage bool
	units        []unit
	overflow     bool
	usage        Usage
}

// check reads a request and returns the first rule it breaks.
func (s *Server) check(body []byte) (*parsed, *apiError) {
	top, ok := members(body)
	if !ok || !utf8.Valid(body) || !json.Valid(body) || loneSurrogate.Match(body) && hasLoneSurrogate(body) {
		return nil, invalid("json", "", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
	}
	p := &parsed{}
	for _, check := range []func(map[string]json.RawMessage, *parsed) *apiError{
		s.checkNames, s.checkModel, s.checkStream, s.checkOutputCap, s.checkTools, s.checkMessages,
	} {
		if err := check(top, p); err != nil {
			return nil, err
		}
	}
	total := int64(0)
	for _, u := range p.units {
		total += u.tokens
	}
	if p.model.WindowTokens > 0 && total > p.model.WindowTokens {
		if s.opts.OnOverflow == OverflowRefused {
			return nil, invalid("8.1", "messages", "context_length_exceeded",
				"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.",
				p.model.WindowTokens, total)
		}
		p.overflow = true
	}
	return p, nil
}

// checkNames refuses members that the interface does not have.
func (s *Server) checkNames(top map[string]json.RawMessage, _ *parsed) *apiError {
	known := []string{
		"model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls",
		"max_tokens", "prompt_cache_key", "temperature", "top_p", "n", "stop", "seed", "user", "store", "metadata",
		"response_format", "reasoning_effort", "service_tier", "safety_identifier", "verbosity",
		"frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs",
	}
	if !s.opts.OnlyMaxTokens {
		known = append(known, "max_completion_tokens")
	}
	if name, ok := unknownMember(top, known); ok {
		return invalid("unknown", name, "unknown_parameter", "Unknown parameter: '%s'.", name)
	}
	return nil
}

// unknownMember returns the first member, by name, that is not among the known.
func unknownMember(m map[string]json.RawMessage, known []string) (string, bool) {
	var unknown []string
	for name := range m {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return strings.Join(unknown[:min(1, len(unknown))], ""), len(unknown) > 0
}

// maxCacheKey is the longest prompt_cache_key, in characters.
const maxCacheKey = 64

func (s *Server) checkModel(top map[string]json.RawMessage, p *parsed) *apiError {
	id, ok := text(top["model"])
	if !ok || id == "" {
		return invalid("model", "", "", "you must provide a model parameter")
	}
	if p.model, ok = s.model(id); !ok {
		return noModel(id)
	}
	if effort, given := top["reasoning_effort"]; given && string(effort) != "null" && !p.model.Reasons {
		return invalid("9.3", "reasoning_effort", "unsupported_parameter",
			"Unsupported parameter: 'reasoning_effort' is not supported with this model.")
	}
	if raw, given := top["prompt_cache_key"]; given {
		if p.cacheKey, ok = text(raw); !ok {
			return wrongType("prompt_cache_key", "a string", raw)
		}
		if n := utf8.RuneCountInString(p.cacheKey); n > maxCacheKey {
			return invalid("8.7", "prompt_cache_key", "string_above_max_length",
				"Invalid 'prompt_cache_key': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", maxCacheKey, n)
		}
	}
	return nil
}

func (s *Server) checkStream(top map[string]json.RawMessage, p *parsed) *apiError {
	if raw, given := top["stream"]; given && json.Unmarshal(raw, &p.stream) != nil {
		return wrongType("stream", "a boolean", raw)
	}
	raw, given := top["stream_options"]
	if !given || string(raw) == "null" {
		return nil
	}
	if !p.stream {
		return invalid("8.6", "stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	options, ok := members(raw)
	if !ok {
		return wrongType("stream_options", "an object", raw)
	}
	if name, bad := unknownMember(options, []string{"include_usage", "include_obfuscation"}); bad {
		return invalid("unknown", "stream_options."+name, "unknown_parameter", "Unknown parameter: 'stream_options.%s'.", name)
	}
	if usage, ok := options["include_usage"]; ok && json.Unmarshal(usage, &p.includeUsage) != nil {
		return wrongType("stream_options.include_usage", "a boolean", usage)
	}
	return nil
}

func (s *Server) checkOutputCap(top map[string]json.RawMessage, p *parsed) *apiError {
	_, older := top["max_tokens"]
	_, newer := top["max_completion_tokens"]
	if older && newer {
		return invalid("8.8", "max_tokens", "invalid_value", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	if older && p.model.Reasons {
		return invalid("8.8", "max_tokens", "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		raw, given := top[name]
		if !given || string(raw) == "null" {
			continue
		}
		var n int64
		if json.Unmarshal(raw, &n) != nil {
			return wrongType(name, "an integer", raw)
		}
		if n < 1 {
			return invalid("8.8", name, "integer_below_min_value",
				"Invalid '%s': integer below minimum value. Expected a value >= 1, but got %d instead.", name, n)
		}
		if most := p.model.MaxOutputTokens; most > 0 && n > most {
			return invalid("8.8", name, "invalid_value",
				"%s is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", name, n, most, n)
		}
	}
	return nil
}

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const maxTools = 128

func (s *Server) checkTools(top map[string]json.RawMessage, p *parsed) *apiError {
	raw, given := top["tools"]
	if !given {
		for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
			if _, given := top[name]; given {
				return invalid("tools", name, "", "'%s' is only allowed when 'tools' are specified.", name)
			}
		}
		return nil
	}
	list, err := array(raw, "tools", maxTools)
	if err != nil {
		return err
	}
	for i, raw := range list {
		if err := s.checkTool(raw, fmt.Sprintf("tools[%d]", i), p); err != nil {
			return err
		}
	}
	return checkToolChoice(top["tool_choice"], p.tools)
}

func (s *Server) checkTool(raw json.RawMessage, at string, p *parsed) *apiError {
	tool, ok := members(raw)
	if !ok {
		return wrongType(at, "an object", raw)
	}
	if kind, _ := text(tool["type"]); kind != "function" {
		return invalid("tools", at+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", kind)
	}
	f, ok := members(tool["function"])
	if !ok {
		return invalid("tools", at+".function", "missing_required_parameter", "Missing required parameter: '%s.function'.", at)
	}
	if name, bad := unknownMember(f, []string{"name", "description", "parameters", "strict"}); bad {
		return invalid("unknown", at+".function."+name, "unknown_parameter", "Unknown parameter: '%s.function.%s'.", at, name)
	}
	name, _ := text(f["name"])
	if err := checkName(name, at+".function.name"); err != nil {
		return err
	}
	if slices.Contains(p.tools, name) {
		return invalid("tools", at+".function.name", "invalid_value", "Tool names must be unique: '%s' is defined twice.", name)
	}
	p.tools = append(p.tools, name)
	p.units = append(p.units, s.textUnits("tool", string(raw))...)
	if parameters, given := f["parameters"]; given {
		return checkSchema(name, parameters, at)
	}
	return nil
}

func checkName(name, at string) *apiError {
	if functionName.MatchString(name) {
		return nil
	}
	return invalid("tools", at, "invalid_value",
		"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
}

func checkSchema(name string, raw json.RawMessage, at string) *apiError {
	schema, ok := members(raw)
	kind, _ := text(schema["type"])
	if !ok || kind != "object" {
		if kind == "" {
			kind = "None"
		}
		return invalid("tools", at+".function.parameters", "invalid_function_parameters",
			`Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`, name, kind)
	}
	if _, ok := members(schema["properties"]); !ok {
		return invalid("tools", at+".function.parameters", "invalid_function_parameters",
			"Invalid schema for function '%s': In context=(), object schema missing properties.", name)
	}
	return nil
}

func checkToolChoice(raw json.RawMessage, tools []string) *apiError {
	if raw == nil {
		return nil
	}
	if mode, ok := text(raw); ok {
		if slices.Contains([]string{"none", "auto", "required"}, mode) {
			return nil
		}
		return invalid("tools", "tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
	}
	var choice struct {
		Function struct{ Name string }
	}
	if json.Unmarshal(raw, &choice) != nil || !slices.Contains(tools, choice.Function.Name) {
		return invalid("tools", "tool_choice", "invalid_value", "Tool choice '%s' not found in 'tools' parameter.", choice.Function.Name)
	}
	return nil
}

// text reads a JSON string.
func text(raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	s, ok := v.(string)
	return s, ok
}

// array reads a JSON array that is neither empty nor too long.
func array(raw json.RawMessage, at string, most int) ([]json.RawMessage, *apiError) {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil, wrongType(at, "an array of objects", raw)
	}
	if len(list) == 0 {
		return nil, invalid("empty", at, "empty_array",
			"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	if len(list) > most {
		return nil, invalid("empty", at, "array_above_max_length",
			"Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", at, most, len(list))
	}
	return list, nil
}

func wrongType(at, want string, raw json.RawMessage) *apiError {
	got := "null"
	if len(raw) > 0 {
		switch raw[0] {
		case '"':
			got = "a string"
		case '{':
			got = "an object"
		case '[':
			got = "an array"
		case 't', 'f':
			got = "a boolean"
		case 'n':
		default:
			got = "a number"
		}
	}
	return invalid("type", at, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.", at, want, got)
}

// loneSurrogate finds escapes that may be half a pair, to look closer at.
var loneSurrogate = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// hasLoneSurrogate reports whether a string of the JSON text has half a surrogate pair,
// which no Unicode text can hold.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] != 'u' { // JSON is valid: something follows
			continue
		}
		r := hexRune(raw[i+1:])
		i += 4
		switch {
		case r >= 0xDC00 && r <= 0xDFFF:
			return true
		case r >= 0xD800 && r <= 0xDBFF:
			if len(raw) < i+7 || raw[i+1] != '\\' || raw[i+2] != 'u' {
				return true
			}
			if low := hexRune(raw[i+3:]); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
	}
	return false
}

// hexRune reads four hexadecimal digits.
func hexRune(raw []byte) rune {
	var r rune
	for _, c := range raw[:4] {
		r <<= 4
		switch {
		case c >= 'a':
			r |= rune(c-'a') + 10
		case c >= 'A':
			r |= rune(c-'A') + 10
		default:
			r |= rune(c - '0')
		}
	}
	return r
}
