package openaifake_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sessiond/llm/llmtest/openaifake"
)

// used sends a body and returns what was counted of it.
func used(t *testing.T, s *openaifake.Server, body string) openaifake.Usage {
	t.Helper()
	if w := post(t, s, body); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	all := s.Requests()
	return all[len(all)-1].Usage
}

// Every turn sends everything before it again; the cache finds the longest prefix that
// was sent before under the same key and is not too old.
func TestPromptCache(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := openaifake.New(openaifake.Options{Now: func() time.Time { return now }, CountsWrites: true})
	history := []string{`{"role":"system","content":"` + strings.Repeat("rule ", 1000) + `"}`, user} // 1,250 + 9 tokens
	ask := func(key string, messages ...string) openaifake.Usage {
		t.Helper()
		return used(t, s, with(`"prompt_cache_key":"`+key+`"`, messages...))
	}
	check := func(step string, got openaifake.Usage, prompt, cached, written int64) {
		t.Helper()
		if got.PromptTokens != prompt || got.CachedTokens != cached || got.CacheWriteTokens != written {
			t.Errorf("%s: %+v, want prompt %d, cached %d, written %d", step, got, prompt, cached, written)
		}
	}
	check("first", ask("k", history...), 1259, 0, 1152)
	check("again", ask("k", history...), 1259, 1152, 0)
	check("another key", ask("other", history...), 1259, 0, 1152)
	longer := append(slices.Clone(history), `{"role":"assistant","content":"`+strings.Repeat("word", 300)+`"}`, user)
	check("longer", ask("k", longer...), 1568, 1152, 384)
	check("another beginning", ask("k", append([]string{user}, history...)...), 1264, 0, 1152)
	now = now.Add(29 * time.Minute)
	check("refreshed", ask("k", history...), 1259, 1152, 0)
	now = now.Add(29 * time.Minute)
	check("the refreshed part only", ask("k", longer...), 1568, 1152, 384)
	now = now.Add(30 * time.Minute)
	check("too late", ask("k", longer...), 1568, 0, 1536)
	check("short", ask("k", user), 5, 0, 0)
	check("short again", ask("k", user), 5, 0, 0)
}

// What a prefix is found by, and what leaves it alone (rule 8.7).
func TestWhatThePromptCacheKnows(t *testing.T) {
	const key = `"prompt_cache_key":"k"`
	system := `{"role":"system","content":"` + strings.Repeat("rule ", 1000) + `"}`
	result := strings.Replace(resultA, "sunny", strings.Repeat("rain ", 1000), 1)
	whole := []string{system, user, callsA, result}
	const all, systemOnly = 2432, 1152
	tests := []struct {
		name string
		body string
		want int64 // tokens that are read
	}{
		{"the same", with(key, whole...), all},
		{"settings are no part of it", with(key+`,"temperature":1`, whole...), all},
		{"another model", strings.Replace(with(key, whole...), "gpt-4o", "gpt-4.1", 1), 0},
		{"no key", with(`"n":1`, whole...), 0},
		{"tools stand first", with(key+`,"tools":[`+weather+`]`, whole...), 0},
		{"the id of a call", with(key, system, user, strings.Replace(callsA, `"a"`, `"b"`, 1), strings.Replace(result, `"a"`, `"b"`, 1)), systemOnly},
		{"arguments", with(key, system, user, strings.Replace(callsA, `"{}"`, `"{ }"`, 1), result), systemOnly},
		{"a result", with(key, system, user, callsA, resultA), systemOnly},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openaifake.New(openaifake.Options{})
			used(t, s, with(key, whole...))
			if got := used(t, s, tt.body); got.CachedTokens != tt.want {
				t.Errorf("%+v, want %d", got, tt.want)
			}
		})
	}
}

func TestNoCache(t *testing.T) {
	s := openaifake.New(openaifake.Options{NoCache: true, CountsWrites: true})
	body := with(`"prompt_cache_key":"k"`, `{"role":"system","content":"`+strings.Repeat("rule ", 1000)+`"}`, user)
	for range 2 {
		if got := used(t, s, body); got.CachedTokens != 0 || got.CacheWriteTokens != 0 || got.PromptTokens != 1259 {
			t.Errorf("%+v", got)
		}
	}
}
