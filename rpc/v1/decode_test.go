package v1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessiond/rpc/v1/v1test"
)

func TestEveryMethodHasAnExampleThatSurvives(t *testing.T) {
	r := newTestRegistry(t)
	all := v1test.Examples()
	for _, m := range r.Methods() {
		t.Run(m.Name, func(t *testing.T) {
			example, ok := all[m.Name]
			if !ok {
				t.Fatal("no example")
			}
			params, err := decodeAny(r, m, example)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.params[m.Params].members {
				if _, given := parse(t, example).(map[string]any)[p.name]; !given && p.name != "after_seq" && m.Name+" "+p.name != "v1.memory.create session_id" {
					t.Errorf("the example lacks %s", p.name)
				}
			}
			again, err := r.Append(nil, params)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonicalText(t, example), canonicalText(t, string(again))); diff != "" {
				t.Errorf("lost on the way (-sent +kept):\n%s", diff)
			}
		})
		delete(all, m.Name)
	}
	if len(all) > 0 {
		t.Errorf("examples of unknown methods: %v", slices.Sorted(maps.Keys(all)))
	}
}

func canonicalText(t *testing.T, raw string) string {
	t.Helper()
	form, err := canonical([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return string(form)
}

// TestEveryWrongValueIsNamed puts, in place of every value of every example, values
// of every other JSON type, and adds, repeats and removes members in every object.
func TestEveryWrongValueIsNamed(t *testing.T) {
	r := newTestRegistry(t)
	for _, m := range r.Methods() {
		root := parse(t, v1test.Examples()[m.Name])
		breaks := 0
		check := func(path, what string) {
			t.Helper()
			breaks++
			_, err := decodeAny(r, m, what)
			t.Run(fmt.Sprintf("%s/%s/%d", m.Name, path, breaks), func(t *testing.T) { wantPath(t, err, path) })
		}
		check("", "[]")
		check("", "null")
		check("", `"x"`)
		walk(root, r.params[m.Params], "", func(path string, s *schema, value any, set func(any)) {
			if path != "" {
				for _, wrong := range wrongFor(s) {
					set(wrong)
					check(path, unparse(t, root))
				}
				set(value)
			}
			if object, ok := value.(map[string]any); ok && s.kind == kindStruct {
				breakObject(t, root, object, s, path, check)
			}
		})
	}
}

func breakObject(t *testing.T, root any, object map[string]any, s *schema, path string, check func(path, what string)) {
	t.Helper()
	object["surplus"] = 1
	check(join(path, "surplus"), unparse(t, root))
	delete(object, "surplus")
	for _, m := range s.members {
		value, given := object[m.name]
		if !given {
			continue
		}
		object["surplus"] = value // the same member twice, by renaming in the text
		text := strings.Replace(unparse(t, root), `"surplus":`, `"`+m.name+`":`, 1)
		delete(object, "surplus")
		check(join(path, m.name), text)

		if !m.optional {
			delete(object, m.name)
			check(join(path, m.name), unparse(t, root))
			object[m.name] = value
		}
	}
}

// walk visits every value of params whose schema is known.
func walk(v any, s *schema, path string, visit func(path string, s *schema, value any, set func(any))) {
	var visitIn func(v any, s *schema, path string, set func(any))
	visitIn = func(v any, s *schema, path string, set func(any)) {
		visit(path, s, v, set)
		switch s.kind {
		case kindStruct:
			object := v.(map[string]any)
			for _, m := range s.members {
				if value, ok := object[m.name]; ok {
					visitIn(value, m.schema, join(path, m.name), func(v any) { object[m.name] = v })
				}
			}
		case kindList, kindContent:
			if list, ok := v.([]any); ok {
				for i, value := range list {
					visitIn(value, s.elem, fmt.Sprintf("%s[%d]", path, i), func(v any) { list[i] = v })
				}
			}
		case kindString, kindBool, kindInteger, kindNumber, kindTime, kindRaw:
		}
	}
	visitIn(v, s, path, nil)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// wrongFor returns values that no value of this kind may be.
func wrongFor(s *schema) []any {
	object, list := map[string]any{}, []any{}
	switch s.kind {
	case kindString:
		wrong := []any{nil, true, 7, object, list}
		if s.enum != nil {
			wrong = append(wrong, "no such value", "")
		}
		return wrong
	case kindBool:
		return []any{nil, 0, 1, "true", object, list}
	case kindInteger:
		return []any{nil, true, "7", 7.5, -1, json.Number("1e30"), json.Number("-1e999999"), json.Number("1e-1"), object, list}
	case kindList:
		return []any{nil, true, 7, "x", object}
	case kindStruct:
		return []any{nil, true, 7, "x", list}
	case kindRaw:
		return []any{nil, true, 7, "x", list}
	case kindContent:
		return []any{nil, true, 7, object}
	case kindNumber, kindTime:
	}
	return nil
}

// TestRules has the rules of the contract, spelled out by hand, each with params that
// break it and params that just do not.
func TestRules(t *testing.T) {
	r := newTestRegistry(t)
	const session = `"session_id":"0197f0d0-0000-7000-8000-000000000001"`
	str := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	object := func(n int) string { return `{"k":"` + strings.Repeat("x", n-8) + `"}` }
	tool := func(name, schema, more string) string {
		return `{"name":"` + name + `","description":"d","input_schema":` + schema + more + `}`
	}
	manyTools := func(n, size int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = tool(fmt.Sprintf("t%d", i), `{"type":"object","x":`+str(size)+`}`, "")
		}
		return strings.Join(list, ",")
	}
	todo := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"content":"c","active_form":"a","status":"pending"},`, n), ",")
	}
	remembered := func(title, content int) string {
		return `"category":"issue","title":` + str(title) + `,"content":` + str(content)
	}
	create := func(members string) string { return `{` + members + `}` }
	inSession := func(members string) string { return `{` + session + `,` + members + `}` }

	tests := []struct {
		method, params, path string // path "ok": allowed
	}{
		{MethodSessionCreate, create(`"title":` + str(256)), "ok"},
		{MethodSessionCreate, create(`"title":` + str(257)), "title"},
		{MethodSessionCreate, create(`"title":"` + strings.Repeat("é", 128) + `"`), "ok"},
		{MethodSessionCreate, create(`"title":"` + strings.Repeat("é", 129) + `"`), "title"},
		{MethodSessionCreate, create(`"title":"` + strings.Repeat(`\u0000`, 86) + `"`), "title"}, // 258 bytes once cleaned
		{MethodSessionUpdate, inSession(`"title":` + str(257)), "title"},
		{MethodSessionUpdate, inSession(`"title":""`), "ok"},
		{MethodSessionFork, inSession(`"title":` + str(257)), "title"},
		{MethodSessionCreate, create(`"model":""`), "model"},
		{MethodSessionCreate, create(`"system_prompt":` + str(256<<10)), "ok"},
		{MethodSessionCreate, create(`"system_prompt":` + str(256<<10+1)), "system_prompt"},
		{MethodSessionCreate, create(`"agent_prompt":` + str(256<<10+1)), "agent_prompt"},
		{MethodSessionUpdate, inSession(`"system_prompt":` + str(256<<10+1)), "system_prompt"},
		{MethodSessionUpdate, inSession(`"agent_prompt":` + str(256<<10+1)), "agent_prompt"},
		{MethodSessionCreate, create(`"agent":{"name":"","system_prompt":""}`), "agent.name"},
		{MethodSessionCreate, create(`"agent":{"name":` + str(257) + `,"system_prompt":""}`), "agent.name"},
		{MethodSessionCreate, create(`"agent":{"name":"n","system_prompt":` + str(256<<10+1) + `}`), "agent.system_prompt"},
		{MethodSessionCreate, create(`"metadata":` + object(16<<10)), "ok"},
		{MethodSessionCreate, create(`"metadata":` + object(16<<10+1)), "metadata"},
		{MethodSessionUpdate, inSession(`"metadata":` + object(16<<10+1)), "metadata"},
		{MethodSessionUpdate, inSession(`"metadata":{}`), "ok"},
		{MethodSessionCreate, create(`"metadata":{"a":[{"b":1,"b":2}]}`), "metadata.a[0].b"},
		{MethodSessionCreate, create(`"tools":[` + manyTools(128, 10) + `]`), "ok"},
		{MethodSessionCreate, create(`"tools":[` + manyTools(129, 10) + `]`), "tools"},
		{MethodSessionCreate, create(`"tools":[` + manyTools(64, 16<<10) + `]`), "tools"}, // over 1 MiB
		{MethodSessionCreate, create(`"tools":[` + manyTools(63, 16<<10) + `]`), "ok"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":"object"}`, "") + `,` + tool("a", `{"type":"object"}`, "") + `]`), "tools[1].name"},
		{MethodSessionCreate, create(`"tools":[` + tool("", `{"type":"object"}`, "") + `]`), "tools[0].name"},
		{MethodSessionCreate, create(`"tools":[` + tool("a.b", `{"type":"object"}`, "") + `]`), "tools[0].name"},
		{MethodSessionCreate, create(`"tools":[` + tool(strings.Repeat("a", 64), `{"type":"object"}`, "") + `]`), "ok"},
		{MethodSessionCreate, create(`"tools":[` + tool(strings.Repeat("a", 65), `{"type":"object"}`, "") + `]`), "tools[0].name"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{}`, "") + `]`), "tools[0].input_schema.type"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":"array"}`, "") + `]`), "tools[0].input_schema.type"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":["object"]}`, "") + `]`), "tools[0].input_schema.type"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":"object"}`, `,"timeout_ms":0`) + `]`), "tools[0].timeout_ms"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":"object"}`, `,"timeout_ms":1`) + `]`), "ok"},
		{MethodSessionCreate, create(`"tools":[` + tool("a", `{"type":"object"}`, `,"reads":""`) + `]`), "tools[0].reads"},
		{MethodSessionCreate, create(`"settings":{"context_tokens_limit":3999}`), "settings.context_tokens_limit"},
		{MethodSessionCreate, create(`"settings":{"context_tokens_limit":4000}`), "ok"},
		{MethodSessionCreate, create(`"settings":{"context_tokens_limit":10000001}`), "settings.context_tokens_limit"},
		{MethodSessionCreate, create(`"settings":{"auto_compact_buffer_tokens":-1}`), "settings.auto_compact_buffer_tokens"},
		{MethodSessionCreate, create(`"settings":{"context_tokens_limit":5000,"auto_compact_buffer_tokens":5000}`), "settings.auto_compact_buffer_tokens"},
		{MethodSessionCreate, create(`"settings":{"max_rounds_per_turn":0}`), "settings.max_rounds_per_turn"},
		{MethodSessionCreate, create(`"settings":{"temperature":0}`), "settings.temperature"},
		{MethodSessionUpdate, inSession(`"settings":{}`), "ok"},
		{MethodSessionUpdate, inSession(`"if_version":0`), "if_version"},
		{MethodSessionUpdate, inSession(`"todo_list":[` + todo(256) + `]`), "ok"},
		{MethodSessionUpdate, inSession(`"todo_list":[` + todo(257) + `]`), "todo_list"},
		{MethodSessionUpdate, inSession(`"todo_list":[{"content":"","active_form":"a","status":"pending"}]`), "todo_list[0].content"},
		{MethodSessionUpdate, inSession(`"todo_list":[{"content":"c","active_form":"a","status":"done"}]`), "todo_list[0].status"},
		{MethodSessionCreate, create(`"key":""`), "key"},
		{MethodSessionCreate, create(`"key":"` + strings.Repeat("é", 64) + `"`), "ok"},
		{MethodSessionCreate, create(`"key":` + str(65)), "key"},
		{MethodSessionList, create(`"limit":0`), "limit"},
		{MethodSessionList, create(`"limit":100`), "ok"},
		{MethodSessionList, create(`"limit":101`), "limit"},
		{MethodSessionList, create(`"status":"compacting"`), "ok"},
		{MethodSessionList, create(`"status":"archived"`), "status"},
		{MethodSessionCompact, inSession(`"custom_instruction":` + str(8<<10)), "ok"},
		{MethodSessionCompact, inSession(`"custom_instruction":` + str(8<<10+1)), "custom_instruction"},
		{MethodSessionCompact, inSession(`"custom_instruction":""`), "custom_instruction"},
		{MethodSessionList, create(`"cursor":` + str(513)), "cursor"},
		{MethodSessionLog, inSession(`"limit":500`), "ok"},
		{MethodSessionLog, inSession(`"limit":501`), "limit"},
		{MethodSessionLog, inSession(`"after_seq":-1`), "after_seq"},
		{MethodSessionSubscribe, inSession(`"after_seq":-1`), "after_seq"},
		{MethodSessionSubscribe, inSession(`"log_id":"x"`), "log_id"},
		{MethodSessionFork, inSession(`"at_seq":0`), "at_seq"},
		{MethodMessageList, inSession(`"limit":200`), "ok"},
		{MethodMessageList, inSession(`"limit":201`), "limit"},
		{MethodMessageList, inSession(`"after_seq":0`), "ok"},
		{MethodMessageList, inSession(`"before_seq":5,"after_seq":1`), "after_seq"},
		{MethodTurnList, inSession(`"limit":101`), "limit"},
		{MethodMessageSend, inSession(`"content":""`), "content"},
		{MethodMessageSend, inSession(`"content":[]`), "content"},
		{MethodMessageSend, inSession(`"content":" "`), "ok"},
		{MethodMessageSend, inSession(`"content":[{"type":"text","text":""}]`), "content[0].text"},
		{MethodMessageSend, inSession(`"content":[{"type":"text","text":"a"},{"type":"text"}]`), "content[1].text"},
		{MethodMessageSend, inSession(`"content":[{"type":"tool_use"}]`), "content[0].type"},
		{MethodMessageSend, inSession(`"content":[{"text":"a"}]`), "content[0].type"},
		{MethodMessageSend, inSession(`"content":["a"]`), "content[0]"},
		{MethodMessageSend, inSession(`"content":[{"type":"text","text":"a","data":"AAAA"}]`), "content[0].data"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","mime_type":"image/png"}]`), "content[0].data"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","data":"AAAA"}]`), "content[0].mime_type"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","mime_type":"image/png","data":"AAAA","text":""}]`), "content[0].text"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","mime_type":"image/png","data":""}]`), "content[0].data"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","mime_type":"image/png","data":"AAA"}]`), "content[0].data"},
		{MethodMessageSend, inSession(`"content":[{"type":"image","mime_type":"image/png","data":"AA\nAA"}]`), "content[0].data"},
		{MethodMessageSend, inSession(`"content":"x","attachments":[{"name":"a","mime_type":"t"}]`), "attachments[0]"},
		{MethodMessageSend, inSession(`"content":"x","attachments":[{"name":"a","mime_type":"t","text":"","data":"AAAA"}]`), "attachments[0]"},
		{MethodMessageSend, inSession(`"content":"x","attachments":[{"name":"","mime_type":"t","text":""}]`), "attachments[0].name"},
		{MethodMessageSend, inSession(`"content":"x","when_busy":"later"`), "when_busy"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"c","content":""`), "ok"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"c","content":[]`), "ok"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"","content":""`), "tool_use_id"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"c","content":` + str(4<<20)), "ok"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"c","content":` + str(4<<20+1)), "content"},
		{MethodToolSubmitResult, inSession(`"tool_use_id":"c","content":"` + strings.Repeat(`\n`, 4<<20) + `"`), "ok"}, // decoded bytes count
		{MethodToolClaim, inSession(`"tool_use_id":"c","lease_ms":60001`), "lease_ms"},
		{MethodToolClaim, inSession(`"tool_use_id":"c","lease_ms":0`), "lease_ms"},
		{MethodMemoryList, `{"scope":"user"}`, "ok"},
		{MethodMemoryList, inSession(`"scope":"session"`), "ok"},
		{MethodMemoryList, `{"scope":"session"}`, "session_id"},
		{MethodMemoryList, inSession(`"scope":"user"`), "session_id"},
		{MethodMemoryList, `{"scope":"all"}`, "scope"},
		{MethodMemoryList, `{"scope":"user","limit":101}`, "limit"},
		{MethodMemoryCreate, inSession(`"scope":"session",` + remembered(256, 8<<10)), "ok"},
		{MethodMemoryCreate, `{"scope":"user","importance":"low",` + remembered(1, 1) + `}`, "ok"},
		{MethodMemoryCreate, `{"scope":"session",` + remembered(1, 1) + `}`, "session_id"},
		{MethodMemoryCreate, inSession(`"scope":"user",` + remembered(1, 1)), "session_id"},
		{MethodMemoryCreate, inSession(`"scope":"session","importance":"low",` + remembered(1, 1)), "importance"},
		{MethodMemoryCreate, `{"scope":"user","importance":"urgent",` + remembered(1, 1) + `}`, "importance"},
		{MethodMemoryCreate, `{"scope":"user",` + remembered(0, 1) + `}`, "title"},
		{MethodMemoryCreate, `{"scope":"user",` + remembered(257, 1) + `}`, "title"},
		{MethodMemoryCreate, `{"scope":"user",` + remembered(1, 0) + `}`, "content"},
		{MethodMemoryCreate, `{"scope":"user",` + remembered(1, 8<<10+1) + `}`, "content"},
		{MethodMemoryUpdate, `{"memory_id":"0197f0d0-0000-7000-8000-000000000001","category":"issue"}`, "ok"},
		{MethodMemoryUpdate, `{"memory_id":"0197f0d0-0000-7000-8000-000000000001","key":"k"}`, ""},
		{MethodMemoryUpdate, `{"memory_id":"0197f0d0-0000-7000-8000-000000000001","category":"gossip"}`, "category"},
		{MethodMemoryUpdate, `{"memory_id":"0197f0d0-0000-7000-8000-000000000001","title":""}`, "title"},
		{MethodMemoryUpdate, `{"memory_id":"0197f0d0-0000-7000-8000-000000000001","content":` + str(8<<10+1) + `}`, "content"},
		{MethodMemoryDelete, `{"memory_id":"7"}`, "memory_id"},
		{MethodSessionGet, `{"session_id":"0197F0D0-0000-7000-8000-00000000000A"}`, "ok"},
		{MethodSessionGet, `{"session_id":"0197f0d0000070008000000000000001"}`, "session_id"},
		{MethodSessionGet, `{"session_id":"0197f0d0-0000-7000-8000-00000000000g"}`, "session_id"},
		{MethodSessionGet, `{` + session + `,"Session_ID":1}`, "Session_ID"},
		{MethodSessionGet, `{` + session + `,"a.b":1}`, `["a.b"]`},
		{MethodSessionGet, `{` + session + `,"":1}`, `[""]`},
		{MethodSessionGet, `{` + session + `,"` + strings.Repeat("é", 100) + `":1}`, `["` + strings.Repeat("é", 32) + `…"]`},
		{MethodServerInfo, `{"x":1}`, "x"},
		{MethodDiscover, `{"x":1}`, "x"},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprintf("%d %s %s", i, tt.method, tt.path), func(t *testing.T) {
			m, ok := r.Lookup(tt.method)
			if !ok {
				t.Fatal("no such method")
			}
			_, err := decodeAny(r, m, tt.params)
			if tt.path != "ok" {
				wantPath(t, err, tt.path)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestDecodeValues(t *testing.T) {
	r := newTestRegistry(t)
	const session = `"session_id":"0197F0D0-0000-7000-8000-00000000000A"`
	inSession := OfSession{SessionID: "0197f0d0-0000-7000-8000-00000000000a"}

	t.Run("defaults", func(t *testing.T) {
		checkDecode(t, r, `{`+session+`}`, SubscribeParams{OfSession: inSession, Deltas: true, Events: EventsAll})
		checkDecode(t, r, `{`+session+`}`, SessionCompactParams{OfSession: inSession, Wait: true})
		checkDecode(t, r, `{`+session+`}`, SessionContextParams{OfSession: inSession})
		checkDecode(t, r, `{`+session+`}`, LogParams{OfSession: inSession, Limit: 500})
		checkDecode(t, r, ``, SessionListParams{Limit: 50})
		checkDecode(t, r, `{`+session+`}`, MessageListParams{OfSession: inSession, Limit: 50})
	})
	t.Run("absent, empty and given", func(t *testing.T) {
		checkDecode(t, r, `{`+session+`}`, SessionUpdateParams{OfSession: inSession})
		checkDecode(t, r, `{`+session+`,"title":"","tools":[],"todo_list":[],"settings":{},"metadata":{}}`, SessionUpdateParams{
			OfSession: inSession, Title: new(""), Tools: []Tool{}, TodoList: []TodoItem{}, Settings: &Settings{}, Metadata: json.RawMessage("{}"),
		})
	})
	t.Run("whole numbers however written", func(t *testing.T) {
		for _, text := range []string{"7", "7.0", "7e0", "70e-1", "0.07E+2", "7.000"} {
			checkDecode(t, r, `{`+session+`,"at_seq":`+text+`}`, SessionForkParams{OfSession: inSession, AtSeq: new(int64(7))})
		}
		checkDecode(t, r, `{`+session+`,"after_seq":-0.0e99}`, SubscribeParams{OfSession: inSession, AfterSeq: new(int64(0)), Deltas: true, Events: EventsAll})
		checkDecode(t, r, `{`+session+`,"at_seq":9223372036854775807}`, SessionForkParams{OfSession: inSession, AtSeq: new(int64(1<<63 - 1))})
	})
	t.Run("text", func(t *testing.T) {
		checkDecode(t, r, `{"title":"a\u0007b\nc\u0085d\ud800e\\u0000 \ud83d\ude00<"}`, SessionCreateParams{Title: "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\\u0000 😀<"})
		checkDecode(t, r, `{"\u0074itle":"x"}`, SessionCreateParams{Title: "x"})
		raw := `"a\u0000\n\ud800\\u0000"`
		checkDecode(t, r, `{`+session+`,"content":`+raw+`}`, MessageSendParams{
			OfSession: inSession, WhenBusy: BusyQueue,
			Content: Content{Raw: json.RawMessage(raw), Blocks: []ContentBlock{{Type: BlockText, Text: "a\x00\n\uFFFD\\u0000"}}},
		})
	})
	t.Run("raw JSON keeps its bytes and is a copy", func(t *testing.T) {
		sent := []byte("{\"metadata\" : { \"a\" : 1.00,\t\"<\":\"\\u0000\" } }")
		p, err := Decode[SessionCreateParams](r, sent)
		if err != nil {
			t.Fatal(err)
		}
		clear(sent)
		if got, want := string(p.Metadata), "{ \"a\" : 1.00,\t\"<\":\"\\u0000\" }"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func checkDecode[P any](t *testing.T, r *Registry, raw string, want P) {
	t.Helper()
	got, err := Decode[P](r, json.RawMessage(raw))
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", raw, diff)
	}
}

func TestDecodeRefusesWhatIsNoJSON(t *testing.T) {
	r := newTestRegistry(t)
	for _, raw := range []string{
		`{`, `{"key":"a"}x`, `{"key":"a",}`, `{"key" "a"}`, `{key:"a"}`, `{"key":"a" "model":"b"}`, `{"key":"\x"}`, `{"key":"\u12g4"}`,
		"{\"key\":\"\n\"}", `{"key":"a`, `{"metadata":{"a":01}}`, `{"metadata":{"a":1.}}`, `{"metadata":{"a":.5}}`, `{"metadata":{"a":1e}}`,
		`{"metadata":{"a":+1}}`, `{"metadata":{"a":nul}}`, `{"metadata":{"a":tru}}`, `{"metadata":{"a":[1,]}}`, `{"metadata":{"a":[1 2]}}`,
		`{"settings":{"max_rounds_per_turn":1.}}`, `{"settings":{"max_rounds_per_turn":-}}`, `{"metadata":nul}`, ` `,
	} {
		_, err := Decode[SessionCreateParams](r, json.RawMessage(raw))
		if err == nil || json.Valid([]byte(raw)) {
			t.Errorf("%q: got error %v, valid %v", raw, err, json.Valid([]byte(raw)))
		}
	}
	deep := `{"metadata":{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`
	if _, err := Decode[SessionCreateParams](r, json.RawMessage(deep)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("2,000 levels: got error %.100v", err)
	}
	if _, err := Decode[Session](r, json.RawMessage(`{}`)); err == nil || strings.Contains(err.Error(), "is required") {
		t.Errorf("params type of no method: got error %v", err)
	}
}
