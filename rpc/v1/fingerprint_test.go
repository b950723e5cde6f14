package v1

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/rpc/v1/v1test"
)

func TestFingerprintEquality(t *testing.T) {
	tests := []struct {
		name, a, b string
		equal      bool
	}{
		{"order and space", `{"a":1,"b":{"c":2,"d":[3]}}`, "{ \"b\" : {\"d\":[ 3 ],\n\"c\":2} , \"a\":1 }", true},
		{"the key", `{"a":1,"key":"x"}`, `{"key":{"any":"thing"},"a":1}`, true},
		{"no key", `{"a":1,"key":"x"}`, `{"a":1}`, true},
		{"an inner key", `{"a":{"key":"x"}}`, `{"a":{"key":"y"}}`, false},
		{"an escaped key", `{"a":1,"\u006bey":"x"}`, `{"a":1}`, true},
		{"escapes", `{"a":"\u0041\/\n😀"}`, `{"a":"A/\u000a\ud83d\ude00"}`, true},
		{"escaped names", `{"\u0061":1}`, `{"a":1}`, true},
		{"lone surrogates", `{"a":"\ud800"}`, `{"a":"\ufffd"}`, true},
		{"a literal backslash", `{"a":"\\u0000"}`, `{"a":"\u0000"}`, false},
		{"absent params", ``, `{}`, true},
		{"list order", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"null is not absent", `{"a":null}`, `{}`, false},
		{"string is not number", `{"a":"1"}`, `{"a":1}`, false},
		{"nesting", `{"a":[[1],2]}`, `{"a":[[1,2]]}`, false},
		{"names and values", `{"a":"b","c":"d"}`, `{"a":"b\",\"c\":\"d"}`, false},
		{"true and false", `{"a":true}`, `{"a":false}`, false},
		{"zeros", `{"a":0}`, `{"a":-0.00e-9}`, true},
		{"huge exponents", `{"a":1e999999}`, `{"a":10.0e999998}`, true},
		{"different huge exponents", `{"a":1e999999}`, `{"a":1e999998}`, false},
		{"wild exponents alike", `{"a":1e99999999999999999999}`, `{"a":1.0E+0099999999999999999999}`, true},
		{"wild exponents of other sign", `{"a":1e99999999999999999999}`, `{"a":1e-99999999999999999999}`, false},
		{"beyond float64", `{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, errA := Fingerprint(json.RawMessage(tt.a))
			b, errB := Fingerprint(json.RawMessage(tt.b))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if (a == b) != tt.equal {
				t.Errorf("%s and %s: equal %v, want %v", tt.a, tt.b, a == b, tt.equal)
			}
		})
	}
}

func TestFingerprintRefuses(t *testing.T) {
	for _, raw := range []string{`[]`, `1`, `null`, `{`, `{}x`, `{"a":1,"a":1}`, `{"a":{"b":1,"\u0062":2}}`, `{"key":1,"key":2}`, `{"a":tru}`, `{"a":1.}`} {
		if sum, err := Fingerprint(json.RawMessage(raw)); err == nil || sum != [32]byte{} {
			t.Errorf("%s: got %x, %v", raw, sum, err)
		}
	}
}

func TestFingerprintIgnoresSpelling(t *testing.T) {
	for name, example := range v1test.Examples() {
		seed := rand.New(rand.NewPCG(1, 2))
		want, err := Fingerprint(json.RawMessage(example))
		if err != nil {
			t.Fatal(name, err)
		}
		for range 20 {
			other := respell(t, example, seed)
			got, err := Fingerprint(json.RawMessage(other))
			if err != nil || got != want {
				t.Fatalf("%s: %v, differs for\n%s\nand\n%s", name, err, example, other)
			}
		}
	}
}

// respell writes the same value with members in another order, other white space,
// escaped characters and other numbers.
func respell(t *testing.T, raw string, rnd *rand.Rand) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	respellValue(&out, v, rnd)
	return out.String()
}

func respellValue(out *strings.Builder, v any, rnd *rand.Rand) {
	space := func() { out.WriteString([]string{"", " ", "\n\t", "\r"}[rnd.IntN(4)]) }
	str := func(s string) {
		out.WriteByte('"')
		for _, r := range s {
			switch {
			case r > 0xFFFF || rnd.IntN(3) > 0:
				quoted, _ := json.Marshal(string(r))
				out.Write(quoted[1 : len(quoted)-1])
			default:
				fmt.Fprintf(out, `\u%04x`, r)
			}
		}
		out.WriteByte('"')
	}
	space()
	switch v := v.(type) {
	case map[string]any:
		out.WriteByte('{')
		names := slices.Sorted(maps.Keys(v))
		rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			space()
			str(name)
			space()
			out.WriteByte(':')
			respellValue(out, v[name], rnd)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			respellValue(out, item, rnd)
		}
		out.WriteByte(']')
	case json.Number:
		text := v.String()
		if !strings.ContainsAny(text, "eE") {
			text += []string{"", "e0", "E+00", "e-0"}[rnd.IntN(4)]
		}
		out.WriteString(text)
	case string:
		str(v)
	default:
		raw, _ := json.Marshal(v)
		out.Write(raw)
	}
	space()
}

// TestNumbersAgreeWithExactArithmetic compares pairs of numbers, many of them equal
// in value, with big.Rat.
func TestNumbersAgreeWithExactArithmetic(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) string {
		text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") +
			rapid.SampledFrom([]string{"0", "1", "10", "100", "12", "120", "9223372036854775807", "9223372036854775808", "922337203685477580700"}).Draw(t, "whole") +
			rapid.SampledFrom([]string{"", ".0", ".00", ".5", ".50", ".05", ".120"}).Draw(t, "fraction")
		if rapid.Bool().Draw(t, "has exponent") {
			text += fmt.Sprintf("e%d", rapid.IntRange(-4, 4).Draw(t, "exponent"))
		}
		return text
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		exactA, _ := new(big.Rat).SetString(a)
		exactB, _ := new(big.Rat).SetString(b)
		decA, decB := parseDecimal([]byte(a)), parseDecimal([]byte(b))
		if got, want := decA == decB, exactA.Cmp(exactB) == 0; got != want {
			t.Fatalf("%s and %s: equal %v, want %v", a, b, got, want)
		}
		if got, want := string(decA.append(nil)) == string(decB.append(nil)), exactA.Cmp(exactB) == 0; got != want {
			t.Fatalf("%s and %s: written alike %v, want %v", a, b, got, want)
		}
		n, whole, fits := decA.integer()
		wantFits := exactA.IsInt() && exactA.Num().IsInt64()
		if whole != exactA.IsInt() || (whole && fits) != wantFits || wantFits && n != exactA.Num().Int64() {
			t.Fatalf("%s: got integer %d, %v, %v", a, n, whole, fits)
		}
	})
}

func TestHugeNumbersCostNoMoreThanTheirText(t *testing.T) {
	for _, text := range []string{"1e999999999", "1e-999999999", "-1E+99999999999999999999999", "1e" + strings.Repeat("9", 1<<20)} {
		d := parseDecimal([]byte(text))
		if _, whole, fits := d.integer(); whole && fits {
			t.Errorf("%.30s fits into 64 bits", text)
		}
		if size := len(d.append(nil)); size > len(text)+32 {
			t.Errorf("%.30s is written in %d bytes", text, size)
		}
	}
}

func FuzzFingerprint(f *testing.F) {
	for _, example := range v1test.Examples() {
		f.Add([]byte(example), uint64(1))
	}
	f.Add([]byte(`{"a":[1e5,-0,"\ud800",{"key":null}],"key":1,"a\u0000":2}`), uint64(2))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		sum, err := Fingerprint(raw)
		if err != nil {
			return
		}
		if len(raw) > 0 && !json.Valid(raw) {
			t.Fatalf("took what is no JSON: %q", raw)
		}
		form, _ := canonical(orEmpty(raw))
		if again, err := canonical(form); err != nil || string(again) != string(form) {
			if !strings.Contains(string(form), "+") { // a wild exponent's form is no JSON
				t.Fatalf("the canonical form %q of %q becomes %q, %v", form, raw, again, err)
			}
		}
		if len(raw) > 1<<12 {
			return
		}
		other := respell(t, string(orEmpty(raw)), rand.New(rand.NewPCG(seed, 0)))
		if got, err := Fingerprint([]byte(other)); err != nil || got != sum {
			t.Fatalf("%q and %q differ: %v", raw, other, err)
		}
	})
}

func orEmpty(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}
