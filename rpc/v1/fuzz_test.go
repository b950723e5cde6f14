package v1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/rpc/v1/v1test"
)

// FuzzDecode feeds every method with every text. What is accepted must come back
// from the encoder as it was understood, and must have a fingerprint.
func FuzzDecode(f *testing.F) {
	r := newTestRegistry(f)
	methods := r.Methods()
	for i, m := range methods {
		f.Add(i, v1test.Examples()[m.Name])
	}
	f.Add(1, `{"title":"\ud800","metadata":{"a":1e999999},"tools":[{"name":"a","input_schema":{"type":"object"},"description":"\u0000"}]}`)
	f.Fuzz(func(t *testing.T, i int, raw string) {
		if i < 0 || i >= len(methods) {
			return
		}
		m := methods[i]
		params, err := decodeAny(r, m, raw)
		if err != nil {
			return
		}
		if !json.Valid([]byte(raw)) {
			t.Fatalf("%s took what is no JSON: %q", m.Name, raw)
		}
		if _, err := Fingerprint([]byte(raw)); err != nil {
			t.Fatalf("%s %q has no fingerprint: %v", m.Name, raw, err)
		}
		sent, err := r.Append(nil, params)
		if err != nil {
			t.Fatalf("%s %q can't be encoded again: %v", m.Name, raw, err)
		}
		again, err := decodeAny(r, m, string(sent))
		if err != nil {
			t.Fatalf("%s %q became %q, which is refused: %v", m.Name, raw, sent, err)
		}
		if diff := cmp.Diff(params, again); diff != "" {
			t.Fatalf("%s %q became %q (-first +second):\n%s", m.Name, raw, sent, diff)
		}
	})
}
