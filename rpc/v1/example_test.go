package v1

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func newTestRegistry(tb testing.TB) *Registry {
	tb.Helper()
	r, err := NewRegistry(DefaultLimits())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// decodeAny decodes the params of a method known only at run time.
func decodeAny(r *Registry, m Method, raw string) (any, error) {
	v := reflect.New(m.Params).Elem()
	c := cursor{data: []byte(raw)}
	if err := c.structure(r.params[m.Params], v); err != nil {
		return nil, err
	}
	if !c.end() {
		return nil, malformed()
	}
	return v.Interface(), nil
}

// wantPath checks that err blames the member at path.
func wantPath(t *testing.T, err error, path string) {
	t.Helper()
	var bad *ParamError
	if !errors.As(err, &bad) {
		t.Errorf("got error %v, want a *ParamError with path %q", err, path)
		return
	}
	if bad.Path != path {
		t.Errorf("got path %q (%s), want %q", bad.Path, bad.Reason, path)
	}
	if bad.Reason == "" {
		t.Error("the error gives no reason")
	}
}

func parse(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func unparse(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
