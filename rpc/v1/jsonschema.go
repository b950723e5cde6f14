package v1

import (
	"reflect"
)

// jsonSchema is the part of JSON Schema (draft 7) that the description uses.
type jsonSchema struct {
	Ref             string                 `json:"$ref,omitempty"`
	Description     string                 `json:"description,omitempty"`
	Type            string                 `json:"type,omitempty"`
	Const           string                 `json:"const,omitempty"`
	Enum            []string               `json:"enum,omitempty"`
	Default         any                    `json:"default,omitempty"`
	Format          string                 `json:"format,omitempty"`
	Pattern         string                 `json:"pattern,omitempty"`
	ContentEncoding string                 `json:"contentEncoding,omitempty"`
	Minimum         *int64                 `json:"minimum,omitempty"`
	Maximum         *int64                 `json:"maximum,omitempty"`
	MinLength       *int64                 `json:"minLength,omitempty"`
	MaxLength       *int64                 `json:"maxLength,omitempty"`
	MinItems        *int64                 `json:"minItems,omitempty"`
	MaxItems        *int64                 `json:"maxItems,omitempty"`
	Items           *jsonSchema            `json:"items,omitempty"`
	Properties      map[string]*jsonSchema `json:"properties,omitempty"`
	Required        []string               `json:"required,omitempty"`
	Additional      *bool                  `json:"additionalProperties,omitempty"`
	OneOf           []*jsonSchema          `json:"oneOf,omitempty"`
	MaxBytes        *int64                 `json:"x-max-bytes,omitempty"`     // of UTF-8, or of JSON as sent
	UniqueMember    string                 `json:"x-unique-member,omitempty"` // no two items share it
}

// side is where a type stands. What clients send is closed: no other members. What
// they receive is open: they ignore members they don't know.
type side int

const (
	received side = iota
	sent
)

// describer prints schemas, each struct once, as a component that others refer to.
type describer struct {
	schemas    map[reflect.Type]*schema
	components map[string]*jsonSchema
}

// refiner is implemented by types whose description needs more than their tags say.
type refiner interface{ refine(s *jsonSchema) }

// describe returns the description of a schema under its rules.
func (d *describer) describe(s *schema, at side) *jsonSchema {
	if at == received && s.kind != kindStruct {
		s = s.unbounded()
	}
	switch s.kind {
	case kindString:
		return describeString(s)
	case kindBool:
		return &jsonSchema{Type: "boolean"}
	case kindInteger:
		return &jsonSchema{Type: "integer", Minimum: s.min, Maximum: s.max}
	case kindNumber:
		return &jsonSchema{Type: "number"}
	case kindTime:
		return &jsonSchema{Type: "string", Format: "date-time"}
	case kindList:
		return &jsonSchema{
			Type: "array", Items: d.describe(s.elem, at),
			MaxItems: s.max, MaxBytes: s.maxBytes, UniqueMember: s.unique,
		}
	case kindStruct:
		return d.component(s, at)
	case kindRaw:
		return describeRaw(s)
	case kindContent:
		return describeContent(s)
	}
	return &jsonSchema{}
}

// unbounded returns the schema without the bounds: what is received was stored under
// the limits of another day.
func (s *schema) unbounded() *schema {
	out := *s
	out.min, out.max, out.maxBytes, out.unique, out.nonempty = nil, nil, nil, "", false
	return &out
}

const (
	uuidPattern     = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
	toolNamePattern = "^[a-zA-Z0-9_-]{1,64}$"
)

func describeString(s *schema) *jsonSchema {
	out := &jsonSchema{Type: "string", Const: s.constant, Enum: s.enum, MaxLength: s.max}
	if s.nonempty {
		out.MinLength = new(int64(1))
	}
	if !s.runes {
		out.MaxBytes = s.max // as a length in characters it is only an upper bound
	}
	switch s.format {
	case formatUUID:
		out.Format, out.Pattern = "uuid", uuidPattern
	case formatToolName:
		out.Pattern = toolNamePattern
	case formatBase64:
		out.ContentEncoding = "base64"
	case formatNone, formatObject, formatSchema:
	}
	return out
}

func describeRaw(s *schema) *jsonSchema {
	if s.ref != "" {
		return reference(s.ref)
	}
	out := &jsonSchema{MaxBytes: s.max}
	if s.format != formatNone {
		out.Type = "object"
	}
	if s.format == formatSchema {
		out.Properties = map[string]*jsonSchema{"type": {Const: "object"}}
		out.Required = []string{"type"}
	}
	return out
}

// describeContent spells out the union that [wireBlock] checks.
func describeContent(s *schema) *jsonSchema {
	text := &jsonSchema{Type: "string"}
	list := &jsonSchema{Type: "array"}
	if s.nonempty {
		text.MinLength, list.MinItems = new(int64(1)), new(int64(1))
	}
	of := func(member string) *jsonSchema { return describeString(s.elem.members[s.elem.index[member]].schema) }
	list.Items = &jsonSchema{OneOf: []*jsonSchema{
		closedBlock(BlockText, map[string]*jsonSchema{"text": text}, "text"),
		closedBlock(BlockImage, map[string]*jsonSchema{"mime_type": of("mime_type"), "data": of("data")}, "mime_type", "data"),
	}}
	return &jsonSchema{OneOf: []*jsonSchema{text, list}, MaxBytes: s.max}
}

func closedBlock(t BlockType, members map[string]*jsonSchema, names ...string) *jsonSchema {
	members["type"] = &jsonSchema{Const: string(t)}
	return &jsonSchema{
		Type: "object", Properties: members,
		Required: append([]string{"type"}, names...), Additional: new(false),
	}
}

func reference(component string) *jsonSchema {
	return &jsonSchema{Ref: "#/components/schemas/" + component}
}

// component returns a reference to a struct's description and makes sure it exists.
func (d *describer) component(s *schema, at side) *jsonSchema {
	name := s.typ.Name()
	if at == sent {
		name += "Input"
	}
	if _, ok := d.components[name]; !ok {
		out := &jsonSchema{Type: "object", Properties: make(map[string]*jsonSchema)}
		d.components[name] = out
		if at == sent {
			out.Additional = new(false)
		}
		for i := range s.members {
			m := &s.members[i]
			out.Properties[m.name] = d.member(m, at)
			if !m.optional {
				out.Required = append(out.Required, m.name)
			}
		}
		if r, ok := reflect.TypeAssert[refiner](reflect.New(s.typ)); ok {
			r.refine(out)
		}
	}
	return reference(name)
}

// member describes a member with its sentence and its default.
func (d *describer) member(m *member, at side) *jsonSchema {
	out := d.describe(m.schema, at)
	out.Description = m.doc
	if m.fallback.IsValid() {
		out.Default = m.fallback.Interface()
	}
	return out
}

// refine says that a file comes as one of two members.
func (*Attachment) refine(s *jsonSchema) {
	s.OneOf = []*jsonSchema{{Required: []string{"text"}}, {Required: []string{"data"}}}
}

// refine ties an entry's type to its data.
func (*Entry) refine(s *jsonSchema) { s.OneOf = eventAlternatives() }

// refine ties an event's type to its data.
func (*Event) refine(s *jsonSchema) { s.OneOf = eventAlternatives() }

func eventAlternatives() []*jsonSchema {
	events := Events()
	alternatives := make([]*jsonSchema, len(events))
	for i, e := range events {
		alternatives[i] = &jsonSchema{Description: e.Summary, Properties: map[string]*jsonSchema{
			"type": {Const: string(e.Type)},
			"data": reference(e.Data.Name()),
		}}
	}
	return alternatives
}
