package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const typesHead = `// Code generated from the server's method registry (go generate ./web); DO NOT EDIT.

/** Any JSON object. */
export interface JSONObject { [member: string]: unknown }

`

// writeTypes writes the contract in TypeScript: a type for each schema, and three maps:
// Methods, Notifications and EventData.
func writeTypes(doc *document) []byte {
	var b bytes.Buffer
	b.WriteString(typesHead)
	writeMethodTypes(&b, doc)
	b.WriteString("/** What the server sends on its own: the params by name. */\nexport interface Notifications {\n")
	for _, n := range doc.Notifications {
		comment(&b, "  ", n.Summary)
		fmt.Fprintf(&b, "  '%s': %s;\n", n.Name, typeOf(&n.Params))
	}
	b.WriteString("}\n\n")
	writeEventData(&b, doc)
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		writeComponent(&b, name, &s)
	}
	b.WriteString("/** The kinds of failure that have a code of their own. */\nexport type ErrorKind = ErrorData['kind'];\n")
	return append(bytes.TrimSpace(b.Bytes()), '\n')
}

func writeMethodTypes(b *bytes.Buffer, doc *document) {
	b.WriteString("/** The methods: params and result by name. */\nexport interface Methods {\n")
	for _, m := range doc.Methods {
		comment(b, "  ", m.Summary)
		fmt.Fprintf(b, "  '%s': { params: %s; result: %s };\n", m.Name, paramsName(m.Name), typeOf(&m.Result.Schema))
	}
	b.WriteString("}\n\n")
	for _, m := range doc.Methods {
		params := schema{Type: "object", Properties: make(map[string]schema)}
		for _, p := range m.Params {
			p.Schema.Description = p.Description
			params.Properties[p.Name] = p.Schema
			if p.Required {
				params.Required = append(params.Required, p.Name)
			}
		}
		params.Description = "Params of " + m.Name + "."
		writeInterface(b, paramsName(m.Name), &params)
	}
}

// paramsName is the name of a method's params: SessionCreateParams of v1.session.create.
func paramsName(method string) string {
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(method, "v1."), func(r rune) bool { return r == '.' || r == '_' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Params"
}

// writeEventData writes the map from the type of an event to its data.
func writeEventData(b *bytes.Buffer, doc *document) {
	b.WriteString("/** The data of a log entry by its type. */\nexport interface EventData {\n")
	for _, one := range doc.Components.Schemas["Event"].OneOf {
		kind, data := one.Properties["type"], one.Properties["data"]
		comment(b, "  ", one.Description)
		fmt.Fprintf(b, "  '%s': %s;\n", kind.Const, typeOf(&data))
	}
	b.WriteString("}\n\n/** The types of log entries. */\nexport type EventType = keyof EventData;\n\n")
}

func writeComponent(b *bytes.Buffer, name string, s *schema) {
	switch {
	case s.Type == "": // a choice between others
		comment(b, "", s.Description)
		fmt.Fprintf(b, "export type %s = %s;\n\n", name, typeOf(s))
	case isEvent(s):
		writeEvent(b, name, s)
	default:
		writeInterface(b, name, s)
	}
}

// isEvent says whether the schema ties the type of its data to its member type.
func isEvent(s *schema) bool { return len(s.OneOf) > 0 && s.OneOf[0].Properties["type"].Const != "" }

func writeEvent(b *bytes.Buffer, name string, s *schema) {
	fmt.Fprintf(b, "/** One type of %s. */\nexport interface %sOf<T extends EventType> {\n", name, name)
	for _, member := range s.names() {
		p := s.Properties[member]
		comment(b, "  ", p.Description)
		switch member {
		case "type":
			b.WriteString("  type: T;\n")
		case "data":
			b.WriteString("  data: EventData[T];\n")
		default:
			writeMember(b, "  ", member, &p, s.requires(member))
		}
	}
	fmt.Fprintf(b, "}\n\n/** %s, whose type says what its data is. */\nexport type %s = { [T in EventType]: %sOf<T> }[EventType];\n\n", name, name, name)
}

func writeInterface(b *bytes.Buffer, name string, s *schema) {
	comment(b, "", s.Description)
	fmt.Fprintf(b, "export interface %s {\n", name)
	for _, member := range s.names() {
		p := s.Properties[member]
		comment(b, "  ", p.Description)
		writeMember(b, "  ", member, &p, s.requires(member))
	}
	b.WriteString("}\n\n")
}

func writeMember(b *bytes.Buffer, indent, name string, s *schema, required bool) {
	mark := "?"
	if required {
		mark = ""
	}
	fmt.Fprintf(b, "%s%s%s: %s;\n", indent, name, mark, typeOf(s))
}

// typeOf spells a schema as a type.
func typeOf(s *schema) string {
	switch {
	case s.Ref != "":
		return s.refName()
	case s.Const != "":
		return "'" + s.Const + "'"
	case len(s.Enum) > 0:
		return "'" + strings.Join(s.Enum, "' | '") + "'"
	case len(s.OneOf) > 0 && len(s.Properties) == 0:
		types := make([]string, len(s.OneOf))
		for i := range s.OneOf {
			types[i] = typeOf(&s.OneOf[i])
		}
		return strings.Join(types, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		return "Array<" + typeOf(s.Items) + ">"
	case "object":
		return objectType(s)
	}
	return "unknown"
}

// objectType spells an object that has no name.
func objectType(s *schema) string {
	if len(s.Properties) == 0 {
		return "JSONObject"
	}
	members := make([]string, 0, len(s.Properties))
	for _, name := range s.names() {
		var b bytes.Buffer
		p := s.Properties[name]
		writeMember(&b, "", name, &p, s.requires(name))
		members = append(members, strings.TrimSpace(b.String()))
	}
	if s.Additional == nil {
		members = append(members, "[member: string]: unknown;")
	}
	return "{ " + strings.Join(members, " ") + " }"
}

func comment(b *bytes.Buffer, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}
