package tokens

import (
	"encoding/binary"
	"slices"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// vocabularies are what is embedded, by name.
func vocabularies() map[string]*vocabulary {
	return map[string]*vocabulary{"o200k_base": newVocabulary(o200kBase), "cl100k_base": newVocabulary(cl100kBase)}
}

func TestVocabularyEqualsLoader(t *testing.T) {
	for name, v := range vocabularies() {
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(v.starts) - 1; got != len(want) {
			t.Errorf("%s has %d tokens, want %d", name, got, len(want))
		}
		longest := 0
		for token, rank := range want {
			if got := v.rank(token); got != uint32(rank) {
				t.Errorf("%s: %q has rank %d, want %d", name, token, got, rank)
			}
			longest = max(longest, len(token))
		}
		if longest != MaxTokenBytes {
			t.Errorf("%s: the longest token has %d bytes", name, longest)
		}
	}
}

func TestVocabularyKnowsNothingElse(t *testing.T) {
	for name, v := range vocabularies() {
		for rank := range uint32(len(v.starts) - 1) {
			// Neighbours of tokens share most of what the table looks at.
			for _, s := range []string{v.token(rank) + "\xff", "\xff" + v.token(rank), v.token(rank)[1:]} {
				if found := v.rank(s); found != noRank && v.token(found) != s {
					t.Fatalf("%s: %q has the rank of %q", name, s, v.token(found))
				}
			}
		}
		if v.rank("") != noRank {
			t.Errorf("%s: nothing is a token", name)
		}
	}
}

// newTestVocabulary holds all bytes, and then the tokens given, in this order.
func newTestVocabulary(tokens ...string) *vocabulary {
	var all []string
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	all = append(all, tokens...)
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(all)))
	for _, token := range all {
		data = append(data, byte(len(token)))
	}
	for _, token := range all {
		data = append(data, token...)
	}
	return newVocabulary(string(data))
}

func TestVocabularyOfAnySize(t *testing.T) {
	for n := range 300 {
		var pairs []string
		for i := range n {
			pairs = append(pairs, string([]byte{byte(i), byte(i / 7)}))
		}
		v := newTestVocabulary(pairs...)
		for i, pair := range pairs {
			if want := slices.Index(pairs, pair); i == want && v.rank(pair) != uint32(256+i) {
				t.Fatalf("of %d pairs, the one at %d has rank %d", n, i, v.rank(pair))
			}
		}
		if v.rank("\xff\xff") != noRank {
			t.Fatalf("of %d pairs, one is found that isn't there", n)
		}
	}
}
