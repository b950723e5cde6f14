package tokens_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"pgregory.net/rapid"

	"sessiond/internal/testenv"
	"sessiond/tokens"
)

// subject is an encoding and what it must agree with.
type subject struct {
	*tokens.Encoding
	original *tiktoken.Tiktoken
}

// subjects are slow to make and never change.
var subjects = sync.OnceValues(func() ([]subject, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	var all []subject
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		encoding, err := tokens.New(name)
		if err != nil {
			return nil, err
		}
		original, err := tiktoken.GetEncoding(name)
		if err != nil {
			return nil, err
		}
		all = append(all, subject{encoding, original})
	}
	return all, nil
})

func eachSubject(tb testing.TB) []subject {
	tb.Helper()
	all, err := subjects()
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func (s subject) want(text string) int { return len(s.original.EncodeOrdinary(text)) }

// kinds of text, each with its own rules or trouble.
var kinds = []string{
	// words, in all cases and with all that leads them in
	"word", " word", " Word", "WORD", "camelCase", "PascalCaseID", "XMLHttp", "snake_case", "ﬁ", "ǅ", "İ", "K", "ſ", "ß",
	// contractions, and what looks like them
	"don't", "DON'T", "we'Re", "'ve", "'ll", "'l", "'d've", "I'm", "I'M", "he'd", "can't", "it's's", "'ſ", "'", "''", "x'y", "’s", "'\u0301s",
	// white space
	" ", "  ", "    ", "\t", "\t\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\v", "\f", "\u00a0", "\u2003", "\u3000", "\u0085", "\u2028", "\u1680", "\ufeff", "\u200b",
	// numbers
	"0", "12", "123", "12345678", "3.14", "1,000", "٣٤٥", "४५", "Ⅻ", "½", "²", "①", "五",
	// symbols
	"!", "...", "?!", "/", "//\n", "/\n/\n", "-->", "=====", "();\n", "});\r\n", "\\", "\"", "$", "€", "©", "\x00", "\x1b[0m", "�",
	// scripts
	"Straße", "naïve", "café", "cafe\u0301", "Ελληνικά", "Привет", "ПРИВЕТ", "שלום", "שָׁלוֹם", "مرحبا", "مُحَمَّد", "नमस्ते", "বাংলা", "தமிழ்", "ไทย", "ខ្មែរ", "မြန်မာ", "አማርኛ", "ქართული", "ᲥᲐᲠᲗᲣᲚᲘ", "Հայերեն",
	"你好", "世界和平，", "。", "、", "ひらがな", "カタカナ", "ｶﾀｶﾅ", "ー", "한국어", "\u1112\u1161\u11ab", "𠮷", "ⴰⵎⴰⵣⵉⵖ", "ʰ", "ª",
	// emoji
	"🙂", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
	// code and data
	"func main() {\n\treturn\n}\n", "if (x != nil) {", "<div class=\"a\">", "{\"key\": [1, null]}", "https://example.com/a?b=c#d", "aGVsbG8gd29ybGQ=", "0xDEADBEEF", "550e8400-e29b-41d4", "e\u0301\u0302\u0303\u0304",
	// names of special tokens are ordinary text
	"<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>",
}

// anyText is a generator of valid UTF-8 of all kinds.
func anyText() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom(kinds),
		rapid.SampledFrom(kinds),
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune(" \n\r\t'a.1A/")), 0, 12, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune("aAʰ中\u0301 '")), 0, 12, -1),
		rapid.Map(rapid.IntRange(1, 200), func(n int) string { return strings.Repeat(kinds[n%len(kinds)], n/8+1) }),
	)
	parts := rapid.OneOf(rapid.SliceOfN(part, 0, 8), rapid.SliceOfN(part, 16, 48))
	return rapid.Map(parts, func(parts []string) string { return strings.Join(parts, "") })
}

// texts returns every string in the recorded conversations that is a text: of prompts,
// messages, tool input and results.
func texts(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(testenv.Transcripts(tb), "*.jsonl"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("%d recorded conversations, %v", len(files), err)
	}
	var all []string
	for _, file := range files {
		all = append(all, textsIn(tb, file)...)
	}
	return all
}

func textsIn(tb testing.TB, name string) []string {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for line := range bytes.Lines(data) {
		var value any
		if err := json.Unmarshal(line, &value); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		all = appendStrings(all, value)
	}
	return all
}

func appendStrings(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, item := range v {
			all = appendStrings(all, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = appendStrings(all, v[key])
		}
	}
	return all
}
