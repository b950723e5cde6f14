package v1

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIsBase64(t *testing.T) {
	chunk := strings.Repeat("AAAA", 1024) // what is decoded at a time
	for s, want := range map[string]bool{
		"": true, "AAAA": true, "AA==": true, "AAA=": true,
		"A": false, "AAA": false, "AA=": false, "AA==AAAA": false, "A-_A": false, "AA\nAA": false, "AAAA\r\n": false, "A AA": false,
		chunk: true, chunk + "AAAA": true, chunk + chunk + "AA==": true,
		chunk + "A": false, chunk[:4095] + "=" + "AAAA": false, chunk[:4094] + "==" + chunk: false, chunk[:4095] + "!" + "AAAA": false,
	} {
		if isBase64(s) != want {
			t.Errorf("%.20q… of %d bytes: got %v, want %v", s, len(s), !want, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat("AAAA", rapid.IntRange(0, 2100).Draw(t, "quads")) + rapid.StringMatching(`[A-D=+/_]{0,9}`).Draw(t, "end")
		if _, err := base64.StdEncoding.DecodeString(s); isBase64(s) != (err == nil) {
			t.Fatalf("…%s of %d bytes: got %v", s[max(0, len(s)-12):], len(s), isBase64(s))
		}
	})
}

func TestIsUUID(t *testing.T) {
	const good = "0197f0d0-0000-7000-8000-00000000000a"
	if !isUUID(good) {
		t.Error("a good one is refused")
	}
	for i := range good {
		for _, b := range []string{"g", "-", "0", "/", ":", "`"} {
			bad := good[:i] + b + good[i+1:]
			dash := good[i] == '-'
			if want := dash == (b == "-") && (dash || b == "0"); isUUID(bad) != want {
				t.Errorf("%s: got %v, want %v", bad, !want, want)
			}
		}
	}
	if isUUID(good+"0") || isUUID(good[1:]) {
		t.Error("wrong length")
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"plain é 😀":                   "plain é 😀",
		"a\x00b\tc\nd\x7fe\u0085f":    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf",
		"\u202eno control\u200b":      "\u202eno control\u200b",
		"a literal \\u0000 \\n stays": "a literal \\u0000 \\n stays",
	} {
		if got := CleanText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestEmbeddedParams: the server asks for session and key without knowing the type.
func TestEmbeddedParams(t *testing.T) {
	var params any = MessageSendParams{OfSession: OfSession{"s"}, WithKey: WithKey{"k"}}
	if p, ok := params.(interface{ Session() string }); !ok || p.Session() != "s" {
		t.Error("the session can't be asked for")
	}
	if p, ok := params.(interface{ IdempotencyKey() string }); !ok || p.IdempotencyKey() != "k" {
		t.Error("the key can't be asked for")
	}
}
