package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "sessiond/rpc/v1"
	"sessiond/rpc/v1/v1test"
)

// TestEveryWrongParamIsNamed breaks every member of a valid call of every method, as
// the description says what is valid, and sends the broken calls over a socket. Each
// must be refused with the path of the member.
func TestEveryWrongParamIsNamed(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	examples := v1test.Examples()
	for method := range w.contract.methods {
		if _, ok := examples[method]; !ok {
			t.Errorf("no example of %s", method)
		}
	}
	sent := 0
	for _, method := range slices.Sorted(maps.Keys(examples)) {
		broken := breaks(t, w.contract, method, examples[method])
		sent += len(broken)
		for calls := range slices.Chunk(broken, int(v1.DefaultLimits().Batch)) {
			p.sendBroken(method, calls)
		}
	}
	if sent < 500 {
		t.Errorf("only %d broken calls were sent", sent)
	}
}

// brokenCall is the params of a call and the path of what is wrong with them.
type brokenCall struct{ params, path string }

// sendBroken sends the calls as one batch, so that each has its own verdict and the
// test does not wait for every one.
func (p *peer) sendBroken(method string, calls []brokenCall) {
	p.t.Helper()
	batch := make([]string, len(calls))
	for i, c := range calls {
		batch[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, c.params)
	}
	p.write("[" + strings.Join(batch, ",") + "]")
	_, raw, err := p.ws.ReadMessage()
	if err != nil {
		p.t.Fatal(err)
	}
	for i, reply := range decode[[]frame](p.t, raw) {
		c := calls[i]
		if reply.Error == nil || reply.Error.Code != v1.CodeInvalidParams {
			p.t.Errorf("%s with %.300s: got %s %v, want %q to be refused", method, c.params, reply.Result, reply.Error, c.path)
			continue
		}
		if err := p.w.contract.checkError(method, reply.Error); err != nil {
			p.t.Errorf("the error of %s breaks the contract: %v", method, err)
		}
		if got := reply.Error.member("path"); got != c.path {
			p.t.Errorf("%s with %.300s: %q is blamed, want %q", method, c.params, got, c.path)
		}
	}
}

// breaker collects broken forms of one example.
type breaker struct {
	t    *testing.T
	c    *contract
	root any
	out  []brokenCall
}

func breaks(t *testing.T, c *contract, method, example string) []brokenCall {
	t.Helper()
	b := &breaker{t: t, c: c}
	if err := json.Unmarshal([]byte(example), &b.root); err != nil {
		t.Fatal(err)
	}
	top := &schema{Type: "object", Properties: make(map[string]*schema), Additional: new(false)}
	for _, p := range c.methods[method].params {
		top.Properties[p.Name] = p.Schema
		if p.Required {
			top.Required = append(top.Required, p.Name)
		}
	}
	b.out = append(b.out, brokenCall{`[]`, ""})
	b.value("", top, b.root, nil)
	return b.out
}

// add notes the example as it is now, broken at path.
func (b *breaker) add(path string) {
	raw, err := json.Marshal(b.root)
	if err != nil {
		b.t.Fatal(err)
	}
	b.out = append(b.out, brokenCall{string(raw), path})
}

// value breaks one value of the example and everything in it; set replaces it.
func (b *breaker) value(path string, s *schema, v any, set func(any)) {
	for s.Ref != "" {
		s = b.c.components[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if set != nil {
		for _, wrong := range wrongFor(s) {
			set(wrong)
			b.add(path)
		}
		set(v)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Properties != nil && s.Additional != nil {
			b.object(path, s, v)
		}
	case []any:
		for i, item := range v {
			b.value(fmt.Sprintf("%s[%d]", path, i), itemSchema(s, item), item, func(wrong any) { v[i] = wrong })
		}
	}
}

func (b *breaker) object(path string, s *schema, v map[string]any) {
	v["surplus"] = 1
	b.add(join(path, "surplus"))
	delete(v, "surplus")
	for _, name := range s.Required {
		kept, ok := v[name]
		if !ok {
			continue
		}
		delete(v, name)
		b.add(join(path, name))
		v[name] = kept
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if member, ok := s.Properties[name]; ok {
			b.value(join(path, name), member, v[name], func(value any) { v[name] = value })
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// itemSchema finds what a list says of one of its items: lists may be one of several
// alternatives, and so may their items, told apart by their type.
func itemSchema(s *schema, item any) *schema {
	for _, alternative := range s.OneOf {
		if alternative.Items != nil {
			s = alternative
		}
	}
	for _, alternative := range s.Items.OneOf {
		if kind, ok := item.(map[string]any)["type"]; ok && kind == *alternative.Properties["type"].Const {
			return alternative
		}
	}
	return s.Items
}

// wrongFor returns values that a schema forbids.
func wrongFor(s *schema) []any {
	object, list := map[string]any{}, []any{}
	switch s.Type {
	case "string":
		return append([]any{nil, true, 7, object, list}, wrongStrings(s)...)
	case "boolean":
		return []any{nil, 0, 1, "true", object, list}
	case "integer":
		wrong := []any{nil, true, "7", 7.5, json.Number("1e30"), json.Number("-1e999999"), object, list}
		if s.Minimum != nil {
			wrong = append(wrong, *s.Minimum-1)
		}
		if s.Maximum != nil {
			wrong = append(wrong, *s.Maximum+1)
		}
		return wrong
	case "array":
		return []any{nil, true, 7, "x", object}
	case "object":
		return []any{nil, true, 7, "x", list}
	}
	return []any{nil, true, 7, object} // content: a string or a list
}

func wrongStrings(s *schema) []any {
	var wrong []any
	if s.Enum != nil || s.Const != nil {
		wrong = append(wrong, "no such value", "")
	}
	if s.Pattern != "" {
		wrong = append(wrong, "a.b")
	}
	if s.ContentEncoding != "" {
		wrong = append(wrong, "!", "AAA")
	}
	if s.MinLength != nil {
		wrong = append(wrong, "")
	}
	if s.MaxLength != nil {
		wrong = append(wrong, strings.Repeat("x", int(*s.MaxLength)+1))
	}
	return wrong
}
