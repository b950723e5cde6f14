package anthropicfake

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// request is a request that passed the checks.
type request struct {
	model     Model
	modelName string // as it was asked for
	version   string
	betas     []string
	key       string // whose cache it uses

	maxTokens  int
	stream     bool
	system     []*block
	tools      []*tool
	toolChoice toolChoice
	thinking   thinkingConfig
	effort     string
	speed      string
	format     bool // output_config.format was given
	topCache   *marker
	messages   []*msg
	turns      []turn

	tokens    int
	positions []position // of the prompt cache
	end       digest     // of the whole conversation, for what is signed next
	systemSum digest
	toolsSum  digest
	dropped   []string // paths of thinking blocks that were dropped on request
}

type tool struct {
	path   string
	name   string
	facts  facts
	marker *marker
}

type toolChoice struct {
	kind     string
	name     string
	parallel bool // disable_parallel_tool_use
}

func topLevel(counting bool) []string {
	common := []string{"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
	if counting {
		return common
	}
	return append(common, "max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k",
		"service_tier", "inference_geo", "speed", "diagnostics")
}

// check applies every rule in the documented order and returns the request, or what
// it is refused with. A request that was read as far as the model is returned along
// with the error.
func (s *Server) check(h http.Header, body []byte, counting bool) (*request, *apiError) {
	f, err := object("", body, topLevel(counting)...)
	if err != nil && !json.Valid(body) {
		return nil, invalid("The request body is not valid JSON")
	}
	if err != nil {
		return nil, err
	}
	req := &request{version: h.Get("Anthropic-Version"), betas: betas(h), key: h.Get("X-Api-Key") + h.Get("Authorization")}
	for _, step := range []func() *apiError{
		func() *apiError { return req.readRequired(f, counting) },
		func() *apiError { return s.findModel(req) },
		func() *apiError { return req.readSettings(f) },
		func() *apiError { return req.checkMaxTokens() },
		func() *apiError { return s.readTools(req, f) },
		func() *apiError { return s.readSystem(req, f) },
		func() *apiError { return s.readMessages(req, f) },
		req.checkRoles,
		req.checkPairs,
		func() *apiError { return req.readThinking(f) },
		func() *apiError { return s.checkThinkingBlocks(req) },
		req.checkMarkers,
		req.checkTools,
		req.checkImages,
		func() *apiError { return s.checkEnd(req) },
		func() *apiError { return s.checkSize(req) },
	} {
		if err := step(); err != nil {
			return req, err
		}
	}
	return req, nil
}

func (r *request) readRequired(f fields, counting bool) (err *apiError) {
	required := []string{"max_tokens", "messages", "model"}
	if counting {
		required = required[1:]
	}
	for _, name := range required {
		if _, ok := f.has[name]; !ok {
			return invalid("%s: Field required", name)
		}
	}
	if r.modelName, err = f.text("model"); err != nil {
		return err
	}
	if counting {
		r.maxTokens = 1
		return nil
	}
	r.maxTokens, err = f.number("max_tokens")
	return err
}

func (s *Server) findModel(r *request) *apiError {
	m, ok := s.model(r.modelName)
	if !ok {
		return notFound("model: " + r.modelName)
	}
	r.model = m
	return nil
}

func (r *request) readSettings(f fields) (err *apiError) {
	if r.stream, err = f.boolean("stream"); err != nil {
		return err
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if !f.given(name) {
			continue
		}
		if r.version == currentVersion || !r.model.Sampling {
			return invalid("%s: Extra inputs are not permitted", name)
		}
	}
	if f.given("output_config") {
		oc, err := object("output_config", f.has["output_config"], "effort", "format")
		if err != nil {
			return err
		}
		r.format = oc.given("format")
		if r.effort, err = oc.optionalText("effort"); err != nil {
			return err
		}
		if r.effort != "" && !slices.Contains(r.model.Efforts, r.effort) {
			return invalid("output_config.effort: `%s` is not supported for this model", r.effort)
		}
	}
	if r.topCache, err = readMarker(f); err != nil {
		return err
	}
	if r.speed, err = f.optionalText("speed"); err != nil {
		return err
	}
	return r.readToolChoice(f)
}

func (r *request) readToolChoice(f fields) *apiError {
	r.toolChoice.kind = "auto"
	if !f.given("tool_choice") {
		return nil
	}
	tc, err := object("tool_choice", f.has["tool_choice"], "type", "name", "disable_parallel_tool_use")
	if err != nil {
		return err
	}
	if r.toolChoice.kind, err = tc.text("type"); err != nil {
		return err
	}
	if r.toolChoice.name, err = tc.optionalText("name"); err != nil {
		return err
	}
	r.toolChoice.parallel, err = tc.boolean("disable_parallel_tool_use")
	return err
}

func (r *request) checkMaxTokens() *apiError {
	switch {
	case r.maxTokens < 0:
		return invalid("max_tokens: Input should be greater than or equal to 0")
	case r.maxTokens > r.model.MaxOutputTokens:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
			r.maxTokens, r.model.MaxOutputTokens, r.modelName)
	case r.maxTokens > 0:
		return nil
	case r.stream:
		return invalid("max_tokens: 0 is not supported with `stream`")
	case r.format:
		return invalid("max_tokens: 0 is not supported with `output_config.format`")
	case r.toolChoice.kind == "any" || r.toolChoice.kind == "tool":
		return invalid("max_tokens: 0 is not supported with `tool_choice.type` %q", r.toolChoice.kind)
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (s *Server) readTools(r *request, f fields) *apiError {
	items, err := f.list("tools")
	if err != nil {
		return err
	}
	for i, raw := range items {
		path := index("tools", i)
		t, err := s.described.get(path, raw, func() (*tool, *apiError) { return s.readTool(path, raw) })
		if err != nil {
			return err
		}
		r.tools = append(r.tools, t)
	}
	return nil
}

func (s *Server) readTool(path string, raw json.RawMessage) (*tool, *apiError) {
	f, err := object(path, raw, "name", "description", "input_schema", "type", "strict", "cache_control",
		"eager_input_streaming", "defer_loading", "allowed_callers", "input_examples")
	if err != nil {
		return nil, err
	}
	t := &tool{path: path, facts: toolFacts(f, s.opts.CountText)}
	t.facts.wire = wireSum(raw)
	if t.name, err = f.text("name"); err != nil {
		return nil, err
	}
	if t.marker, err = readMarker(f); err != nil {
		return nil, err
	}
	return t, checkTool(t, f)
}

func checkTool(t *tool, f fields) *apiError {
	kind, err := f.optionalText("type")
	if err != nil {
		return err
	}
	if kind != "" && kind != "custom" {
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", t.path, kind)
	}
	if !toolName.MatchString(t.name) {
		return invalid("%s: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", at(t.path, "custom.name"))
	}
	if !f.given("input_schema") {
		return invalid("%s: Field required", at(t.path, "custom.input_schema"))
	}
	var schema map[string]any
	if json.Unmarshal(f.has["input_schema"], &schema) != nil {
		return invalid("%s: Input should be a valid dictionary", at(t.path, "custom.input_schema"))
	}
	if schema["type"] != "object" {
		return invalid("%s: Input should be 'object'", at(t.path, "custom.input_schema.type"))
	}
	deferred, err := f.boolean("defer_loading")
	if err != nil {
		return err
	}
	if deferred && t.marker != nil {
		return invalid("%s: cache_control cannot be set for deferred tools", t.path)
	}
	strict, err := f.boolean("strict")
	if err != nil {
		return err
	}
	if strict && !closed(schema) {
		return invalid("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", at(t.path, "custom"))
	}
	return nil
}

// closed reports whether every object schema in a schema refuses other properties.
func closed(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		if v["type"] == "object" && v["additionalProperties"] != false {
			return false
		}
		for _, inner := range v {
			if !closed(inner) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(inner any) bool { return !closed(inner) })
	}
	return true
}

func (s *Server) readSystem(r *request, f fields) *apiError {
	if !f.given("system") {
		return nil
	}
	blocks, err := s.readContent("system", f.has["system"], "system")
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if b.kind != "text" {
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'text'", b.path, b.kind)
		}
	}
	if err := checkTexts("system", blocks); err != nil {
		return err
	}
	r.system = blocks
	return nil
}

const maxMessages = 100_000

func (s *Server) readMessages(r *request, f fields) *apiError {
	items, err := f.list("messages")
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return invalid("messages: at least one message is required")
	}
	if len(items) > maxMessages {
		return invalid("messages: List should have at most %d items after validation, not %d", maxMessages, len(items))
	}
	for i, raw := range items {
		kind := strconv.Itoa(i) + " " + r.model.ID + " " + r.version
		m, err := s.parsed.get(kind, raw, func() (*msg, *apiError) { return s.readMessage(r, i, raw) })
		if err != nil {
			return err
		}
		if len(m.blocks) == 0 && (i < len(items)-1 || m.role != roleAssistant) {
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		if err := checkTexts("messages", m.blocks); err != nil {
			return err
		}
		r.messages = append(r.messages, m)
	}
	return nil
}

func (s *Server) readMessage(r *request, i int, raw json.RawMessage) (*msg, *apiError) {
	path := index("messages", i)
	f, err := object(path, raw, "role", "content")
	if err != nil {
		return nil, err
	}
	m := &msg{index: i}
	if m.role, err = f.text("role"); err != nil {
		return nil, err
	}
	switch {
	case m.role == roleUser, m.role == roleAssistant, m.role == roleSystem && r.model.SystemMessages:
	case m.role == roleSystem:
		return nil, invalid("%s.role: role 'system' is not supported for this model", path)
	default:
		return nil, invalid("%s.role: Input should be 'user' or 'assistant'", path)
	}
	if _, ok := f.has["content"]; !ok {
		return nil, invalid("%s.content: Field required", path)
	}
	m.blocks, err = s.readContent(at(path, "content"), f.has["content"], m.role)
	if err != nil {
		return nil, err
	}
	for _, b := range m.blocks {
		if err := b.checkVersion(r.version, m.role); err != nil {
			return nil, err
		}
	}
	return m, nil
}
