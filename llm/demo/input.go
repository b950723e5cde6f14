package demo

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"sessiond/llm"
	"sessiond/message"
)

// schema is the part of a JSON Schema that a sensible value can be made from.
type schema struct {
	kind       string // type, or the first of several
	enum       []json.RawMessage
	fallback   json.RawMessage // default or const
	minimum    json.RawMessage
	items      *schema
	properties []property // in the order of the schema's text
	required   []string
}

type property struct {
	name   string
	schema *schema
}

func (s *schema) property(name string) *schema {
	for _, p := range s.properties {
		if p.name == name {
			return p.schema
		}
	}
	return nil
}

// parseSchema never fails: what can't be read is as if it were not there.
func parseSchema(raw []byte) *schema {
	var w struct {
		Type       json.RawMessage   `json:"type"`
		Enum       []json.RawMessage `json:"enum"`
		Default    json.RawMessage   `json:"default"`
		Const      json.RawMessage   `json:"const"`
		Minimum    json.RawMessage   `json:"minimum"`
		Items      json.RawMessage   `json:"items"`
		Properties json.RawMessage   `json:"properties"`
		Required   []string          `json:"required"`
	}
	if json.Unmarshal(raw, &w) != nil {
		return &schema{}
	}
	s := &schema{enum: w.Enum, fallback: w.Default, minimum: w.Minimum, required: w.Required, kind: firstType(w.Type)}
	if w.Const != nil {
		s.fallback = w.Const
	}
	if w.Items != nil {
		s.items = parseSchema(w.Items)
	}
	s.properties = parseProperties(w.Properties)
	return s
}

func firstType(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		return several[0]
	}
	return ""
}

// parseProperties reads an object with its order, which a map would lose: inputs
// must come out the same every time.
func parseProperties(raw []byte) []property {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []property
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return out
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return out
		}
		name, _ := key.(string)
		out = append(out, property{name: name, schema: parseSchema(value)})
	}
	return out
}

// makeInput writes an input that has everything the tool's schema requires, from the
// words that followed the tool's name and samples where they say nothing.
func makeInput(tool llm.Tool, words string) string {
	sch := parseSchema(tool.InputSchema)
	h := readHints(words)
	for _, p := range sch.properties { // "with pattern x": the name is no argument
		h.texts = slices.DeleteFunc(h.texts, func(text string) bool { return strings.EqualFold(text, p.name) })
	}
	out := []byte{'{'}
	for _, p := range sch.properties {
		value := h.value(p)
		if value == nil && slices.Contains(sch.required, p.name) {
			value = h.fill(p)
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(message.AppendString(out, p.name), ':')
		out = append(out, value...)
	}
	return string(append(out, '}'))
}

// hints are the words that could be arguments.
type hints struct {
	words []string
	named map[string]string // key=value and key: value
	paths []string          // look like files, not yet given away
	texts []string          // quoted, or after a preposition, not yet given away
}

var (
	namedHint = regexp.MustCompile(`(\w+)\s*[=:：]\s*("[^"]*"|[^\s,，。;；]+)`)
	quoteHint = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|(?:^|\s)'([^']+)'|\x60([^\x60]+)\x60`)
	wordHint  = regexp.MustCompile(`(?i)\b(?:for|with|on|in|about)\s+(?:the )?(?:file )?(\S+)|(?:查找|搜索|关于|读取?)\s*([^\s，。]+)`)
	pathHint  = regexp.MustCompile(`^[\w.~/-]*(?:/[\w.-]*|\w\.\w{1,8})$`)
)

func readHints(words string) *hints {
	h := &hints{named: make(map[string]string), words: strings.Fields(words)}
	for _, found := range namedHint.FindAllStringSubmatch(words, -1) {
		h.named[found[1]] = strings.Trim(found[2], `"`)
	}
	for _, found := range quoteHint.FindAllStringSubmatch(words, -1) {
		h.add(strings.Join(found[1:], ""))
	}
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(" \t\n,，。;；", r) }) {
		if word = strings.Trim(word, ".?!"); pathHint.MatchString(word) {
			h.add(word)
		}
	}
	for _, found := range wordHint.FindAllStringSubmatch(words, -1) {
		h.add(strings.Trim(found[1]+found[2], `"'“”.,?!`+"`"))
	}
	return h
}

func (h *hints) add(hint string) {
	switch {
	case hint == "" || slices.Contains(h.paths, hint) || slices.Contains(h.texts, hint):
	case pathHint.MatchString(hint):
		h.paths = append(h.paths, hint)
	default:
		h.texts = append(h.texts, hint)
	}
}

// value is what the words say about a property by its name, or nil.
func (h *hints) value(p property) []byte {
	text, ok := h.named[p.name]
	for i := 1; i < len(h.words) && !ok; i++ {
		if strings.EqualFold(h.words[i-1], p.name) {
			text, ok = strings.Trim(h.words[i], `"'“”.,?!`+"`"), true
		}
	}
	if !ok {
		return nil
	}
	if p.schema.kind != "string" && json.Valid([]byte(text)) {
		return []byte(text)
	}
	return message.AppendString(nil, text)
}

// fill gives a required property the next fitting word, or a sample.
func (h *hints) fill(p property) []byte {
	if p.schema.kind == "string" && len(p.schema.enum) == 0 {
		list := &h.texts
		if wantsPath(p.name) {
			list = &h.paths
		}
		if len(*list) > 0 {
			text := (*list)[0]
			*list = (*list)[1:]
			return message.AppendString(nil, text)
		}
	}
	return sample(p.name, p.schema, 0)
}

func wantsPath(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "path") || strings.Contains(name, "file") || strings.Contains(name, "dir")
}

const maxSampleDepth = 8

// sample makes a value that fits a schema.
func sample(name string, s *schema, depth int) []byte {
	switch {
	case s == nil || depth > maxSampleDepth:
		return []byte("null")
	case s.fallback != nil:
		return s.fallback
	case len(s.enum) > 0:
		return s.enum[0]
	}
	switch s.kind {
	case "integer", "number":
		if s.minimum != nil {
			return s.minimum
		}
		return []byte("1")
	case "boolean":
		return []byte("false")
	case "null":
		return []byte("null")
	case "array":
		if s.items == nil {
			return []byte("[]")
		}
		return slices.Concat([]byte{'['}, sample(name, s.items, depth+1), []byte{']'})
	case "object":
		return sampleObject(s, depth)
	}
	return message.AppendString(nil, sampleText(name))
}

func sampleObject(s *schema, depth int) []byte {
	out := []byte{'{'}
	for _, p := range s.properties {
		if !slices.Contains(s.required, p.name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(message.AppendString(out, p.name), ':')
		out = append(out, sample(p.name, p.schema, depth+1)...)
	}
	return append(out, '}')
}

// sampleText is a harmless value for a text of that name.
func sampleText(name string) string {
	name = strings.ToLower(name)
	for _, s := range [][2]string{
		{"dir", "."},
		{"path", "README.md"},
		{"file", "README.md"},
		{"pattern", "TODO"},
		{"query", "demo"},
		{"command", "ls"},
		{"cmd", "ls"},
		{"url", "https://example.com/"},
		{"city", "Paris"},
		{"location", "Paris"},
		{"date", "2026-01-31"},
		{"email", "someone@example.com"},
		{"expression", "6*7"},
	} {
		if strings.Contains(name, s[0]) {
			return s[1]
		}
	}
	return "demo"
}
