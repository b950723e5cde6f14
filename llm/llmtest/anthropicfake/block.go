package anthropicfake

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// msg is one entry of messages.
type msg struct {
	index  int
	role   string
	blocks []*block
}

// block is one content block.
type block struct {
	path   string
	kind   string
	fields fields
	marker *marker
	facts  facts

	text      string   // text, thinking
	signature string   // thinking; the data of a redacted one
	id        string   // tool_use, and what a tool_result answers
	content   []*block // of a tool_result
}

// marker is a cache_control.
type marker struct {
	path string
	long bool // an hour instead of five minutes
}

// members says what may stand in a block of each kind, and who may speak it.
func members(kind string) (allowed, roles []string) {
	user, assistant := []string{roleUser}, []string{roleAssistant}
	switch kind {
	case "text":
		return []string{"type", "text", "citations", "cache_control"}, []string{roleUser, roleAssistant, roleSystem}
	case "image":
		return []string{"type", "source", "cache_control", "transformations"}, user
	case "document":
		return []string{"type", "source", "title", "context", "citations", "cache_control"}, []string{roleUser, roleAssistant}
	case "search_result":
		return []string{"type", "source", "title", "content", "citations", "cache_control"}, user
	case "tool_result":
		return []string{"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}, user
	case "tool_use", "server_tool_use":
		return []string{"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}, assistant
	case "web_search_tool_result":
		return []string{"type", "tool_use_id", "content", "cache_control", "caller"}, assistant
	case "thinking":
		return []string{"type", "thinking", "signature"}, assistant
	case "redacted_thinking":
		return []string{"type", "data"}, assistant
	case "compaction":
		return []string{"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"}, assistant
	}
	return nil, nil
}

// readContent reads a string or a list of blocks.
func (s *Server) readContent(path string, raw json.RawMessage, role string) ([]*block, *apiError) {
	switch kindOf(raw) {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, invalid("%s: Input should be a valid string", path)
		}
		if text == "" {
			return nil, nil
		}
		b := &block{path: index(path, 0), kind: "text", text: text}
		b.facts = blockFacts(b, s.opts.CountText)
		b.facts.wire = wireSum(textBlock(bytes.TrimSpace(raw)))
		return []*block{b}, nil
	case '[':
	default:
		return nil, invalid("%s: Input should be a valid list", path)
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, invalid("%s: Input should be a valid list", path)
	}
	blocks := make([]*block, len(items))
	for i, item := range items {
		b, err := s.readBlock(index(path, i), item, role)
		if err != nil {
			return nil, err
		}
		blocks[i] = b
	}
	return blocks, nil
}

func (s *Server) readBlock(path string, raw json.RawMessage, role string) (*block, *apiError) {
	var head struct {
		Type string `json:"type"`
	}
	if kindOf(raw) != '{' || json.Unmarshal(raw, &head) != nil {
		return nil, invalid("%s: Input should be a valid dictionary", path)
	}
	allowed, roles := members(head.Type)
	if allowed == nil {
		return nil, invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, head.Type)
	}
	inner := at(path, head.Type)
	f, err := object(inner, raw, allowed...)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(roles, role) {
		return nil, invalid("%s: `%s` blocks are not permitted in `%s` messages", path, head.Type, role)
	}
	b := &block{path: path, kind: head.Type, fields: f}
	if b.marker, err = readMarker(f); err != nil {
		return nil, err
	}
	if b.marker != nil {
		b.marker.path = at(path, "cache_control")
	}
	if err := s.readMembers(b); err != nil {
		return nil, err
	}
	b.facts = blockFacts(b, s.opts.CountText)
	b.facts.wire = wireSum(raw)
	return b, nil
}

func (s *Server) readMembers(b *block) (err *apiError) {
	f := b.fields
	switch b.kind {
	case "text":
		b.text, err = f.text("text")
	case "thinking":
		if b.text, err = f.text("thinking"); err == nil {
			b.signature, err = f.text("signature")
		}
	case "redacted_thinking":
		b.signature, err = f.text("data")
	case "tool_use", "server_tool_use":
		err = b.readToolUse()
	case "tool_result":
		err = s.readToolResult(b)
	case "image", "document":
		if !f.given("source") {
			err = invalid("%s: Field required", at(f.path, "source"))
		}
	}
	return err
}

var (
	toolUseID       = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	serverToolUseID = regexp.MustCompile(`^srvtoolu_[a-zA-Z0-9_]+$`)
)

func (b *block) readToolUse() (err *apiError) {
	f := b.fields
	if b.id, err = f.text("id"); err != nil {
		return err
	}
	pattern := toolUseID
	if b.kind == "server_tool_use" {
		pattern = serverToolUseID
	}
	if !pattern.MatchString(b.id) {
		return invalid("%s: String should match pattern '%s'", at(f.path, "id"), pattern)
	}
	if b.text, err = f.text("name"); err != nil {
		return err
	}
	if _, ok := f.has["input"]; !ok {
		return invalid("%s: Field required", at(f.path, "input"))
	}
	if kindOf(f.has["input"]) != '{' {
		return invalid("%s: Input should be a valid dictionary", at(f.path, "input"))
	}
	return nil
}

func (s *Server) readToolResult(b *block) (err *apiError) {
	f := b.fields
	if b.id, err = f.text("tool_use_id"); err != nil {
		return err
	}
	if !toolUseID.MatchString(b.id) {
		return invalid("%s: String should match pattern '%s'", at(f.path, "tool_use_id"), toolUseID)
	}
	if _, err := f.boolean("is_error"); err != nil {
		return err
	}
	if !f.given("content") {
		return nil
	}
	if b.content, err = s.readContent(at(f.path, "content"), f.has["content"], roleUser); err != nil {
		return err
	}
	for _, inner := range b.content {
		if inner.kind == "tool_result" {
			return invalid("%s: `tool_result` blocks are not permitted inside a tool result", inner.path)
		}
	}
	return checkTexts("messages", b.content)
}

// checkTexts refuses blank text blocks. where is "messages" or "system".
func checkTexts(where string, blocks []*block) *apiError {
	for _, b := range blocks {
		switch {
		case b.kind != "text":
		case b.text == "" && b.marker != nil:
			return invalid("%s: cache_control cannot be set for empty text blocks", at(b.path, "text"))
		case b.text == "":
			return invalid("%s: text content blocks must be non-empty", where)
		case strings.TrimSpace(b.text) == "":
			return invalid("%s: text content blocks must contain non-whitespace text", where)
		}
	}
	return nil
}

// checkVersion refuses what the current version of the API no longer takes.
func (b *block) checkVersion(version, role string) *apiError {
	if version != currentVersion {
		return nil
	}
	if b.kind == "document" && role == roleAssistant {
		return invalid("%s: `document` blocks are not permitted in `assistant` messages", b.path)
	}
	if b.kind == "text" && role == roleUser && b.fields.given("citations") {
		if items, err := b.fields.list("citations"); err != nil || len(items) > 0 {
			return invalid("%s: Extra inputs are not permitted", at(b.path, "text.citations"))
		}
	}
	return nil
}

// readMarker reads a member cache_control.
func readMarker(f fields) (*marker, *apiError) {
	if !f.given("cache_control") {
		return nil, nil
	}
	path := at(f.path, "cache_control")
	cc, err := object(path, f.has["cache_control"], "type", "ttl")
	if err != nil {
		return nil, err
	}
	kind, err := cc.text("type")
	if err != nil {
		return nil, err
	}
	if kind != "ephemeral" {
		return nil, invalid("%s: Input should be 'ephemeral'", at(path, "type"))
	}
	ttl, err := cc.optionalText("ttl")
	if err != nil {
		return nil, err
	}
	switch ttl {
	case "", "5m", "1h":
		return &marker{path: path, long: ttl == "1h"}, nil
	}
	return nil, invalid("%s: Input should be '5m' or '1h'", at(path, "ttl"))
}

// thinks reports whether a block is one of the opaque ones.
func (b *block) thinks() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }
