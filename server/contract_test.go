package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "sessiond/rpc/v1"
)

// contract holds the published description and judges what a server sends by it. It is
// stricter than the description: members that it does not name are an error, so that
// nothing leaves the server that the description does not tell.
type contract struct {
	components map[string]*schema
	errors     map[string]describedError
	methods    map[string]describedMethod
	notes      map[string]*schema
}

type describedError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type describedMethod struct {
	params []describedParam
	result *schema
	errors []string // names in contract.errors
}

type describedParam struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

// schema is everything the description uses of JSON Schema; a word that is not here
// makes reading the description fail.
type schema struct {
	Ref             string             `json:"$ref"`
	Description     string             `json:"description"`
	Type            string             `json:"type"`
	Const           *string            `json:"const"`
	Enum            []string           `json:"enum"`
	Default         any                `json:"default"`
	Format          string             `json:"format"`
	Pattern         string             `json:"pattern"`
	ContentEncoding string             `json:"contentEncoding"`
	Minimum         *int64             `json:"minimum"`
	Maximum         *int64             `json:"maximum"`
	MinLength       *int64             `json:"minLength"`
	MaxLength       *int64             `json:"maxLength"`
	MinItems        *int64             `json:"minItems"`
	MaxItems        *int64             `json:"maxItems"`
	Items           *schema            `json:"items"`
	Properties      map[string]*schema `json:"properties"`
	Required        []string           `json:"required"`
	Additional      *bool              `json:"additionalProperties"`
	OneOf           []*schema          `json:"oneOf"`
	MaxBytes        *int64             `json:"x-max-bytes"`
	UniqueMember    string             `json:"x-unique-member"`
}

// readContract reads an OpenRPC document.
func readContract(doc []byte) (*contract, error) {
	var d struct {
		Methods []struct {
			Name   string           `json:"name"`
			Params []describedParam `json:"params"`
			Result struct {
				Schema *schema `json:"schema"`
			} `json:"result"`
			Errors []struct {
				Ref string `json:"$ref"`
			} `json:"errors"`
		} `json:"methods"`
		Notifications []struct {
			Name   string  `json:"name"`
			Params *schema `json:"params"`
		} `json:"x-notifications"`
		Components json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	var components struct {
		Schemas map[string]*schema        `json:"schemas"`
		Errors  map[string]describedError `json:"errors"`
	}
	dec := json.NewDecoder(bytes.NewReader(d.Components))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&components); err != nil {
		return nil, err
	}
	c := &contract{
		components: components.Schemas, errors: components.Errors,
		methods: make(map[string]describedMethod), notes: make(map[string]*schema),
	}
	for _, m := range d.Methods {
		described := describedMethod{params: m.Params, result: m.Result.Schema}
		for _, e := range m.Errors {
			described.errors = append(described.errors, strings.TrimPrefix(e.Ref, "#/components/errors/"))
		}
		c.methods[m.Name] = described
	}
	for _, n := range d.Notifications {
		c.notes[n.Name] = n.Params
	}
	return c, nil
}

func (c *contract) checkResult(method string, raw json.RawMessage) error {
	m, ok := c.methods[method]
	if !ok {
		return fmt.Errorf("method %s is not described", method)
	}
	if method == v1.MethodDiscover {
		return nil // the description itself, which is not described
	}
	return c.checkRaw("result", m.result, raw)
}

func (c *contract) checkNotification(name string, raw json.RawMessage) error {
	params, ok := c.notes[name]
	if !ok {
		return fmt.Errorf("notification %s is not described", name)
	}
	return c.checkRaw("params", params, raw)
}

// checkError checks that the method may fail like this, and that data is as described.
func (c *contract) checkError(method string, e *wireError) error {
	m, ok := c.methods[method]
	if !ok {
		return nil // a method that does not exist, or a frame that is no call
	}
	for _, name := range m.errors {
		if c.errors[name].Code != e.Code {
			continue
		}
		switch e.Code {
		case v1.CodeCancelled:
			return nil
		case v1.CodeInvalidParams:
			return c.checkRaw("data", c.components["InvalidParamsData"], e.Data)
		case v1.CodeInternalError:
			return c.checkRaw("data", c.components["InternalErrorData"], e.Data)
		}
		if e.kind() != name {
			return fmt.Errorf("code %d comes with kind %q, not %q", e.Code, e.kind(), name)
		}
		return c.checkRaw("data", c.components["ErrorData"], e.Data)
	}
	return fmt.Errorf("%s is not described to fail with code %d (%s)", method, e.Code, e.Data)
}

func (c *contract) checkRaw(path string, s *schema, raw json.RawMessage) error {
	v, err := decodeNumbers(raw)
	if err != nil {
		return err
	}
	return c.check(path, s, v, true)
}

func decodeNumbers(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// check judges a value. closed says that the members of an object must be named.
func (c *contract) check(path string, s *schema, v any, closed bool) error {
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		target, ok := c.components[name]
		if !ok {
			return fmt.Errorf("%s: %s is not in the description", path, s.Ref)
		}
		return c.check(path, target, v, true)
	}
	if s.Type != "" && jsonType(v, s.Type) != s.Type {
		return fmt.Errorf("%s: is %s, not %s", path, jsonType(v, s.Type), s.Type)
	}
	var err error
	switch v := v.(type) {
	case string:
		err = s.checkString(v)
	case json.Number:
		err = s.checkNumber(v)
	case []any:
		for i, item := range v {
			if s.Items != nil {
				if err := c.check(fmt.Sprintf("%s[%d]", path, i), s.Items, item, false); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		err = c.checkObject(path, s, v, closed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.checkOneOf(path, s, v)
}

func (c *contract) checkOneOf(path string, s *schema, v any) error {
	if s.OneOf == nil {
		return nil
	}
	var failures []error
	for _, alternative := range s.OneOf {
		if err := c.check(path, alternative, v, false); err != nil {
			failures = append(failures, err)
		}
	}
	if len(failures) == len(s.OneOf)-1 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d alternatives fit: %w", path, len(s.OneOf)-len(failures), len(s.OneOf), errors.Join(failures...))
}

func (c *contract) checkObject(path string, s *schema, v map[string]any, closed bool) error {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return fmt.Errorf("lacks %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		member, ok := s.Properties[name]
		switch {
		case ok:
			if err := c.check(path+"."+name, member, v[name], false); err != nil {
				return err
			}
		case closed && s.Properties != nil:
			return fmt.Errorf("has a member %s that is not described", name)
		}
	}
	return nil
}

func (s *schema) checkString(v string) error {
	switch {
	case s.Const != nil && v != *s.Const:
		return fmt.Errorf("%q is not %q", v, *s.Const)
	case s.Enum != nil && !slices.Contains(s.Enum, v):
		return fmt.Errorf("%q is not one of %q", v, s.Enum)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v):
		return fmt.Errorf("%q does not match %s", v, s.Pattern)
	case s.Format == "date-time":
		at, err := time.Parse(time.RFC3339Nano, v)
		if err != nil || !strings.HasSuffix(v, "Z") || at.IsZero() {
			return fmt.Errorf("%q is no time in UTC", v)
		}
	}
	return nil
}

func (s *schema) checkNumber(v json.Number) error {
	n, err := v.Int64()
	if err == nil && (s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum) {
		return fmt.Errorf("%s is out of bounds", v)
	}
	return nil
}

// jsonType names a value's type; a whole number is what is wanted of the two.
func jsonType(v any, wanted string) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if _, err := v.Int64(); err == nil && wanted == "integer" {
			return "integer"
		}
		return "number"
	}
	return fmt.Sprintf("%T", v)
}
