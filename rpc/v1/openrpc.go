package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// OpenRPCVersion is the version of the OpenRPC specification that the description
// follows.
const OpenRPCVersion = "1.3.2"

type (
	openRPCDocument struct {
		OpenRPC       string                `json:"openrpc"`
		Info          openRPCInfo           `json:"info"`
		Methods       []openRPCMethod       `json:"methods"`
		Notifications []openRPCNotification `json:"x-notifications"`
		Components    openRPCComponents     `json:"components"`
	}
	openRPCInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	openRPCMethod struct {
		Name           string           `json:"name"`
		Summary        string           `json:"summary"`
		ParamStructure string           `json:"paramStructure"`
		Params         []openRPCContent `json:"params"`
		Result         openRPCContent   `json:"result"`
		Errors         []openRPCRef     `json:"errors"`
		Scope          string           `json:"x-scope"`
		Writes         bool             `json:"x-writes"`
	}
	openRPCNotification struct {
		Name    string      `json:"name"`
		Summary string      `json:"summary"`
		Lossy   bool        `json:"lossy"`
		Params  *jsonSchema `json:"params"`
	}
	openRPCContent struct {
		Name        string      `json:"name"`
		Description string      `json:"description,omitempty"`
		Required    bool        `json:"required,omitempty"`
		Schema      *jsonSchema `json:"schema"`
	}
	openRPCRef struct {
		Ref string `json:"$ref"`
	}
	openRPCComponents struct {
		Schemas map[string]*jsonSchema  `json:"schemas"`
		Errors  map[string]openRPCError `json:"errors"`
	}
	openRPCError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
)

// The names of the standard errors among the described ones.
const (
	errorInvalidParams = "invalid_params"
	errorInternal      = "internal_error"
	errorCancelled     = "cancelled"
)

// OpenRPC returns the contract as an OpenRPC document for a server of this version.
// The same registry and version give the same bytes.
func (r *Registry) OpenRPC(version string) (json.RawMessage, error) {
	d := &describer{schemas: r.schemas, components: make(map[string]*jsonSchema)}
	doc := openRPCDocument{
		OpenRPC: OpenRPCVersion,
		Info: openRPCInfo{
			Title:   "sessiond",
			Version: version,
			Description: "Sessions with language models over JSON-RPC 2.0 on WebSocket, subprotocol " + Protocol +
				". The data of an error with a code of its own is described by the schema ErrorData; of invalid_params by InvalidParamsData; of internal_error by InternalErrorData.",
		},
	}
	for _, m := range r.methods {
		doc.Methods = append(doc.Methods, d.method(&m, r.params[m.Params]))
	}
	for _, n := range Notifications() {
		doc.Notifications = append(doc.Notifications, openRPCNotification{
			Name: n.Name, Summary: n.Summary, Lossy: n.Lossy, Params: d.component(r.schemas[n.Params], received),
		})
	}
	d.others()
	doc.Components = openRPCComponents{Schemas: d.components, Errors: describeErrors()}

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode the description: %w", err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

func (d *describer) method(m *Method, params *schema) openRPCMethod {
	out := openRPCMethod{
		Name: m.Name, Summary: m.Summary, ParamStructure: "by-name", Params: []openRPCContent{},
		Scope: m.Scope.String(), Writes: m.Writes,
	}
	for i := range params.members {
		p := &params.members[i]
		described := d.member(p, sent)
		described.Description = "" // stands beside the schema
		out.Params = append(out.Params, openRPCContent{
			Name: p.name, Description: p.doc, Required: !p.optional, Schema: described,
		})
	}
	out.Result = openRPCContent{Name: "result", Schema: &jsonSchema{Type: "object"}}
	if result, ok := d.schemas[m.Result]; ok {
		out.Result.Schema = d.component(result, received)
	}
	for _, name := range []string{errorInvalidParams, errorInternal, errorCancelled} {
		out.Errors = append(out.Errors, errorRef(name))
	}
	for _, kind := range m.Errors {
		out.Errors = append(out.Errors, errorRef(string(kind)))
	}
	return out
}

// others describes the types that only raw JSON and errors refer to.
func (d *describer) others() {
	for _, t := range otherTypes() {
		d.component(d.schemas[t], received)
	}
	block := &jsonSchema{Description: "A piece of a message's content; its type says which."}
	for _, t := range blockTypes() {
		block.OneOf = append(block.OneOf, reference(t.Name()))
	}
	d.components["Block"] = block
}

func describeErrors() map[string]openRPCError {
	errors := map[string]openRPCError{
		errorInvalidParams: {Code: CodeInvalidParams, Message: "invalid params"},
		errorInternal:      {Code: CodeInternalError, Message: "internal error"},
		errorCancelled:     {Code: CodeCancelled, Message: "the call was cancelled"},
	}
	for _, k := range Kinds() {
		errors[string(k.Kind)] = openRPCError{Code: k.Code, Message: k.Message, Data: NewErrorData(k.Kind, 0)}
	}
	return errors
}

func errorRef(name string) openRPCRef { return openRPCRef{Ref: "#/components/errors/" + name} }
