package v1

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sessiond/message"
)

// FuzzScan holds the scanner against encoding/json: both must call the same texts
// JSON and read the same strings out of them.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+10,true,false,null,"x"]}`, `"\ud83d\ude00\ud800\u0041\udc00\"\\\/\b\f\n\r\t"`, "\"\xff\xc0é\"", ` [ ] `, `{"a":1,"a":2}`, `01`, `"`, `-`, `1e`, `nul`, `{} {}`, "\"\x01\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := cursor{data: raw}
		err := c.skip()
		valid := err == nil && c.end()
		if valid != json.Valid(raw) {
			if err != nil && (err.Reason == "is given twice" || err.Reason == "is nested too deeply") {
				return // JSON by its grammar, and refused all the same
			}
			t.Fatalf("%q: got %v (%v), encoding/json says %v", raw, valid, err, json.Valid(raw))
		}
		var want string
		if !valid || json.Unmarshal(raw, &want) != nil || raw[0] != '"' {
			return
		}
		c = cursor{data: raw}
		if got, err := c.text(); err != nil || string(got) != want || !utf8.Valid(got) {
			t.Fatalf("%q: got %q (%v), want %q", raw, got, err, want)
		}
		if again, err := json.Marshal(json.RawMessage(message.AppendString(nil, want))); err != nil {
			t.Fatalf("wrote %q as %s: %v", want, again, err)
		}
	})
}

func TestObjectsWithManyMembers(t *testing.T) {
	for _, n := range []int{7, 8, 9, 100} {
		var members []string
		for i := range n {
			members = append(members, `"`+strings.Repeat("m", i+1)+`":0`)
		}
		c := cursor{data: []byte(`{` + strings.Join(members, ",") + `}`)}
		if err := c.skip(); err != nil {
			t.Errorf("%d members: %v", n, err)
		}
		for _, twice := range []int{0, n / 2, n - 1} {
			c := cursor{data: []byte(`{` + strings.Join(append(members, members[twice]), ",") + `}`)}
			err := c.skip()
			if want := segment([]byte(strings.Repeat("m", twice+1))); err == nil || err.Path != want {
				t.Errorf("%d members, number %d twice: got %v", n, twice, err)
			}
		}
	}
}
