package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unsafe"
)

// within reports whether part is a piece of whole's own memory.
func within(part, whole []byte) bool {
	if len(part) == 0 {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	return start <= at && at+uintptr(len(part)) <= start+uintptr(len(whole))
}

// checkRequest compares a decoded request with what encoding/json makes of it.
func checkRequest(t *testing.T, m message, raw json.RawMessage, data []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("%s is a request and no object: %v", raw, err)
	}
	var version, method string
	if json.Unmarshal(want["jsonrpc"], &version) != nil || version != "2.0" {
		t.Fatalf("jsonrpc %s was accepted", want["jsonrpc"])
	}
	if json.Unmarshal(want["method"], &method) != nil || method != string([]rune(m.method)) {
		t.Fatalf("method %q, want %s", m.method, want["method"])
	}
	for name, got := range map[string][]byte{"id": m.id, "params": m.params} {
		if !bytes.Equal(got, want[name]) {
			t.Fatalf("%s %q, want %q", name, got, want[name])
		}
		if got != nil && (!within(got, data) || cap(got) != len(got)) {
			t.Fatalf("%s is not a closed piece of the frame", name)
		}
	}
}

// FuzzDecode checks that the decoder never fails on hostile text, that it calls
// JSON what encoding/json calls JSON, and that ids and params are pieces of the
// frame, equal to what encoding/json finds.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `{`, `[`, `{}`, `[]`, `[ ]`, `{ }`, `1`, `-`, `-0`, `01`, `1.`, `1.5e`, `1.5e+`, `1.5E-7`, `.5`, `+1`, `tru`, `true`, `nul`, `"`, `"\`, `"\u`, `"\u12`,
		`"\ud800"`, `"\x"`, "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\x00", "{}\x00", "\ufeff{}", `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `[1,]`, `[1 2]`, `[,1]`, `[}`, `{]`, `[[]`, `{} {}`,
		`{"a":[1 2]}`, `{"a":[[1,]]}`, `{"a":{"b":1,2}}`, `{"a":{1}}`, `{"a" 1}`, `{"a\x":1}`, `{"a":{"b" 1}}`, `"\u00g0"`,
		`{"jsonrpc":"2.0","id":1,"method":"a"}`,
		` { "jsonrpc" : "2.0" , "id" : null , "method" : "\u0061\ud800" , "params" : [ 1 , { "a" : [ ] } ] } `,
		`{"jsonrpc":"2.0","id":-1.5e300,"method":"a","params":{}}`,
		`{"jsonrpc":"\u0032.0","id":"x","\u006dethod":"a","method":"b"}`,
		`{"jsonrpc":"2.0","method":"a","params":null}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},7]`,
		`[1,2,3,4]`, `[1,2,3,4`, `[{}] x`,
		strings.Repeat("[", 9) + strings.Repeat("]", 9), strings.Repeat(`{"a":`, 20),
	} {
		f.Add([]byte(seed))
	}
	opts := Options{MaxBatch: 3, MaxDepth: 8, MaxIDBytes: 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		got, refusal := decode(data, &opts)
		if !bytes.Equal(data, original) {
			t.Fatal("the frame was changed")
		}
		if refusal != nil {
			tooDeep := refusal.Code == CodeInvalidRequest && json.Valid(data) == false
			if tooDeep && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= opts.MaxDepth {
				t.Fatalf("%q is no JSON and not deep, but: %v", data, refusal)
			}
			if refusal.Code == CodeParseError && json.Valid(data) {
				t.Fatalf("%q is JSON, but: %v", data, refusal)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is no JSON, but was decoded", data)
		}
		if got.batch == nil {
			if got.single.kind == request {
				checkRequest(t, got.single, data, data)
			}
			return
		}
		var items []json.RawMessage
		if err := json.Unmarshal(data, &items); err != nil || len(items) != len(got.batch) || len(items) == 0 || len(items) > opts.MaxBatch {
			t.Fatalf("a batch of %d, encoding/json finds %d: %v", len(got.batch), len(items), err)
		}
		for i, m := range got.batch {
			if m.kind == request {
				checkRequest(t, m, items[i], data)
			}
		}
	})
}

func TestScannerKeepsItsStackFlat(t *testing.T) {
	t.Parallel()
	const depth = 1_000_000
	text := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	s := scanner{data: text}
	if err := s.value(depth); err != nil || !s.end() {
		t.Errorf("value: %v at %d", err, s.pos)
	}
	s = scanner{data: text}
	if err := s.value(depth - 1); err != errDepth { //nolint:errorlint // the scanner's errors are never wrapped
		t.Errorf("value: %v, want %v", err, errDepth)
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range map[string][]byte{
		"small": []byte(`{"jsonrpc":"2.0","id":1234,"method":"v1.session.get","params":{"session_id":"0190d3a4-0000-7000-8000-000000000000"}}`),
		"text":  []byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"content":"` + strings.Repeat("some text\\n", 100_000) + `"}}`),
	} {
		opts := DefaultOptions()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, refusal := decode(data, &opts); refusal != nil {
					b.Fatal(refusal)
				}
			}
		})
		b.Run(name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if !json.Valid(data) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
