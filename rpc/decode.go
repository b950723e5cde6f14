package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// kind says what a message is to a server.
type kind uint8

const (
	request  kind = iota // a call or a notification
	response             // an answer nobody asked for
	invalid              // JSON, but no JSON-RPC message
)

// message is one decoded message. Its slices lie in the frame's own memory.
type message struct {
	kind   kind
	method string
	id     []byte // raw; nil: a notification
	params []byte // raw; nil: absent
	reason string // of an invalid one; may be empty
}

// frame is what one text frame held: a message, or a batch of at least one.
type frame struct {
	single message
	batch  []message // nil: not a batch
}

// malformed reports whether any of it is no JSON-RPC message.
func (f *frame) malformed() bool {
	return f.single.kind == invalid ||
		slices.ContainsFunc(f.batch, func(m message) bool { return m.kind == invalid })
}

// maxExtraMembers bounds the search for repeated names among members that
// JSON-RPC does not know.
const maxExtraMembers = 16

// decode reads a frame in one pass. The error is the one answer to the whole
// frame; messages that are wrong one by one have kind invalid instead.
func decode(data []byte, o *Options) (frame, *Error) {
	d := decoder{scanner: scanner{data: data}, opts: o}
	var f frame
	var err error
	if d.token() == '[' {
		f.batch, err = d.batch()
	} else {
		f.single, err = d.message()
	}
	if err == nil && !d.end() {
		err = errSyntax
	}
	var refused *Error
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &refused):
		return frame{}, refused
	case errors.Is(err, errDepth):
		return frame{}, invalidRequest(fmt.Sprintf("nested deeper than %d", o.MaxDepth))
	default:
		return frame{}, parseError()
	}
}

type decoder struct {
	scanner
	opts *Options
}

// batch reads on behind the limit, keeping nothing, because text that is not
// JSON at all is a parse error first.
func (d *decoder) batch() ([]message, error) {
	d.take('[')
	if d.take(']') {
		return nil, d.refuseBatch("")
	}
	messages := make([]message, 0, 4)
	for n := 1; ; n++ {
		m, err := d.message()
		if err != nil {
			return nil, err
		}
		if n <= d.opts.MaxBatch {
			messages = append(messages, m)
		}
		if d.take(',') {
			continue
		}
		if !d.take(']') {
			return nil, errSyntax
		}
		if n > d.opts.MaxBatch {
			return nil, d.refuseBatch(fmt.Sprintf("more than %d messages in a batch", d.opts.MaxBatch))
		}
		return messages, nil
	}
}

// refuseBatch refuses a batch as one message, unless something stands behind it
// and makes the frame no JSON.
func (d *decoder) refuseBatch(reason string) error {
	if !d.end() {
		return errSyntax
	}
	return invalidRequest(reason)
}

// members are the raw values of a message's members; nil: absent.
type members struct {
	version, method, id, params, result, failure []byte
	extra                                        [][]byte
	flaw                                         string // found while reading
}

func (d *decoder) message() (message, error) {
	if d.token() != '{' {
		return message{kind: invalid}, d.value(d.opts.MaxDepth)
	}
	var m members
	if err := d.object(d.opts.MaxDepth, m.add); err != nil {
		return message{}, err
	}
	return m.message(d.opts), nil
}

// add keeps one member.
func (m *members) add(name, value []byte) {
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(unquote(name))
	}
	var field *[]byte
	switch string(name) {
	case "jsonrpc":
		field = &m.version
	case "method":
		field = &m.method
	case "id":
		field = &m.id
	case "params":
		field = &m.params
	case "result":
		field = &m.result
	case "error":
		field = &m.failure
	default:
		m.addExtra(name)
		return
	}
	if *field != nil {
		m.flaw = "a member is repeated"
	}
	*field = value
}

func (m *members) addExtra(name []byte) {
	if len(m.extra) == maxExtraMembers {
		m.flaw = fmt.Sprintf("more than %d members besides those of JSON-RPC", maxExtraMembers)
		return
	}
	for _, known := range m.extra {
		if bytes.Equal(known, name) {
			m.flaw = "a member is repeated"
		}
	}
	m.extra = append(m.extra, name)
}

// message judges what has been read.
func (m *members) message(o *Options) message {
	flawed := func(reason string) message { return message{kind: invalid, reason: reason} }
	isResult := m.result != nil || m.failure != nil
	switch {
	case string(m.version) != `"2.0"` && (!isString(m.version) || text(m.version) != "2.0"):
		return flawed("")
	case m.method == nil && isResult:
		return message{kind: response}
	case !isString(m.method):
		return flawed("")
	case m.flaw != "":
		return flawed(m.flaw)
	case isResult:
		return flawed("a request has no result and no error")
	case m.params != nil && m.params[0] != '{' && m.params[0] != '[':
		return flawed("params must be an object or an array")
	case m.id != nil && !isID(m.id):
		return flawed("id must be a string, a number or null")
	case len(m.id) > o.MaxIDBytes:
		return flawed(fmt.Sprintf("id is longer than %d bytes", o.MaxIDBytes))
	}
	return message{method: text(m.method), id: m.id, params: m.params}
}

func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// text decodes a raw string.
func text(raw []byte) string { return unquote(raw[1 : len(raw)-1]) }

func isID(raw []byte) bool {
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	default:
		return true
	}
}
