package server_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sessiond/compaction"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
	"sessiond/store"
)

// remember has a memory written; in says of whom, and what is not as usual.
func (p *peer) remember(in params) v1.Memory {
	p.t.Helper()
	all := both(params{"category": "decision", "title": "Tabs", "content": "Indent with tabs."}, in)
	return decode[v1.MemoryResult](p.t, p.call(v1.MethodMemoryCreate, all)).Memory
}

// both returns params with the members of two, the second's where both have one.
func both(a, b params) params {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (p *peer) memories(in params) v1.MemoryListResult {
	p.t.Helper()
	return decode[v1.MemoryListResult](p.t, p.call(v1.MethodMemoryList, in))
}

// scopes are the params that say whose memory it is, by scope.
func scopes(session string) map[v1.MemoryScope]params {
	return map[v1.MemoryScope]params{
		v1.MemoryOfSession: {"scope": "session", "session_id": session},
		v1.MemoryOfUser:    {"scope": "user"},
	}
}

// TestMemories writes, changes, lists and deletes a memory of each scope.
func TestMemories(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	for scope, of := range scopes(s.ID) {
		t.Run(string(scope), func(t *testing.T) {
			want := v1.Memory{Scope: scope, Category: v1.MemoryDecision, Title: "Tabs", Content: "Indent with tabs.", Source: v1.MemoryByClient}
			if scope == v1.MemoryOfSession {
				want.SessionID = s.ID
			} else {
				want.Importance = v1.ImportanceMedium
			}
			times := cmpopts.IgnoreFields(v1.Memory{}, "CreatedAt", "UpdatedAt")
			got := p.remember(of)
			want.ID = got.ID
			if diff := cmp.Diff(want, got, times); diff != "" || got.ID == "" || !got.CreatedAt.Equal(got.UpdatedAt) {
				t.Errorf("created (-want +got):\n%s", diff)
			}
			if listed := p.memories(of); !cmp.Equal([]v1.Memory{got}, listed.Memories) || listed.NextCursor != "" {
				t.Errorf("listed %+v, created %+v", listed, got)
			}

			change := params{"memory_id": got.ID, "category": "learning", "title": "Spaces\a"}
			want.Category, want.Title = v1.MemoryLearning, "Spaces\uFFFD"
			if scope == v1.MemoryOfUser {
				change["importance"], want.Importance = "critical", v1.ImportanceCritical
			}
			changed := decode[v1.MemoryResult](t, p.call(v1.MethodMemoryUpdate, change)).Memory
			if diff := cmp.Diff(want, changed, times); diff != "" || !changed.CreatedAt.Equal(got.CreatedAt) || changed.UpdatedAt.Before(got.UpdatedAt) {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if listed := p.memories(of); !cmp.Equal([]v1.Memory{changed}, listed.Memories) {
				t.Errorf("listed %+v, changed to %+v", listed, changed)
			}

			p.call(v1.MethodMemoryDelete, params{"memory_id": got.ID})
			if listed := p.memories(of); len(listed.Memories) > 0 {
				t.Errorf("listed after it was deleted: %+v", listed)
			}
			for method, in := range map[string]params{
				v1.MethodMemoryUpdate: {"memory_id": got.ID, "title": "x"}, v1.MethodMemoryDelete: {"memory_id": got.ID},
			} {
				if e := p.refused(v1.KindNotFound, method, in); e.member("what") != "memory" {
					t.Errorf("%s: %v, want a memory to be missing", method, e)
				}
			}
		})
	}
	e := p.refused(v1.KindNotFound, v1.MethodMemoryList, params{"scope": "session", "session_id": message.NewSessionID()})
	if e.member("what") != "session" {
		t.Errorf("of a session that is not there: %v", e)
	}
}

// TestMemoryPages lists the newest change first, and every memory once.
func TestMemoryPages(t *testing.T) {
	now := newClock()
	w := newWorld(t, setup{options: session.Options{Now: now.now}})
	p := w.dial()
	s := p.create(params{})
	for scope, of := range scopes(s.ID) {
		var want []string
		for range 5 { // all at the same time
			want = append(want, p.remember(of).ID)
		}
		now.advance(time.Second)
		p.call(v1.MethodMemoryUpdate, params{"memory_id": want[2], "content": "Newer."})
		slices.Sort(want)
		var got []string
		in := both(of, params{"limit": 2})
		for {
			page := p.memories(in)
			for _, m := range page.Memories {
				got = append(got, m.ID)
				if newest := m.Content == "Newer."; newest != (len(got) == 1) {
					t.Errorf("%s: memory %d of the list is the one that changed: %v", scope, len(got), newest)
				}
			}
			if len(page.Memories) > 2 || page.NextCursor == "" {
				break
			}
			in["cursor"] = page.NextCursor
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +listed):\n%s", scope, diff)
		}
	}
	if _, e := p.try(v1.MethodMemoryList, params{"scope": "user", "cursor": "x"}); e == nil || e.member("path") != "cursor" {
		t.Errorf("with a cursor that is none: %v", e)
	}
}

// TestMemoryKeys: the same call under the same key has one effect.
func TestMemoryKeys(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	for scope, of := range scopes(s.ID) {
		t.Run(string(scope), func(t *testing.T) {
			in := both(of, params{"category": "issue", "title": "a", "content": "b", "key": "c"})
			first := decode[v1.MemoryResult](t, p.call(v1.MethodMemoryCreate, in))
			again := decode[v1.MemoryResult](t, p.call(v1.MethodMemoryCreate, in))
			first.Replayed = true
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("created again (-first +again):\n%s", diff)
			}
			in["title"] = "other"
			p.refused(v1.KindIdempotencyConflict, v1.MethodMemoryCreate, in)

			change := params{"memory_id": first.Memory.ID, "title": "c", "key": "u " + string(scope)}
			changed := decode[v1.MemoryResult](t, p.call(v1.MethodMemoryUpdate, change))
			again = decode[v1.MemoryResult](t, p.call(v1.MethodMemoryUpdate, change))
			changed.Replayed = true
			if diff := cmp.Diff(changed, again); diff != "" {
				t.Errorf("changed again (-first +again):\n%s", diff)
			}

			gone := params{"memory_id": first.Memory.ID, "key": "d " + string(scope)}
			for _, replayed := range []bool{false, true} {
				if got := decode[v1.MemoryDeleteResult](t, p.call(v1.MethodMemoryDelete, gone)); got.Replayed != replayed {
					t.Errorf("deleted: replayed %v, want %v", got.Replayed, replayed)
				}
			}
		})
	}
}

// TestMemoriesAreBounded by number, by size, and by what a session is.
func TestMemoriesAreBounded(t *testing.T) {
	w := newWorld(t, setup{})
	p := w.dial()
	s := p.create(params{})
	for scope, most := range map[v1.MemoryScope]int{v1.MemoryOfSession: session.MaxSessionMemories, v1.MemoryOfUser: session.MaxUserMemories} {
		of := scopes(s.ID)[scope]
		category, text := compaction.MemoryIssue, "x"
		for range most {
			ref := store.Ref{Owner: "local", ID: message.SessionID(s.ID)}
			in := session.MemoryInput{Category: &category, Title: &text, Content: &text}
			if _, err := w.sessions.CreateMemory(t.Context(), session.MemoryScope(scope), ref, in, session.Idempotency{}); err != nil {
				t.Fatal(err)
			}
		}
		in := both(of, params{"category": "issue", "title": "x", "content": "x"})
		if e := p.refused(v1.KindQuotaExceeded, v1.MethodMemoryCreate, in); e.member("quota") != "memories" {
			t.Errorf("%s: one more fails as %v", scope, e)
		}
		p.call(v1.MethodMemoryDelete, params{"memory_id": p.memories(of).Memories[0].ID})
		p.call(v1.MethodMemoryCreate, in)
	}
	limits := v1.DefaultLimits()
	if limits.MemoryTitleBytes != session.MaxMemoryTitleBytes || limits.MemoryContentBytes != session.MaxMemoryContentBytes ||
		limits.SessionMemories != session.MaxSessionMemories || limits.UserMemories != session.MaxUserMemories {
		t.Errorf("the limits that are told are others: %+v", limits)
	}
	if _, e := p.try(v1.MethodMemoryCreate, params{"scope": "user", "category": "issue", "title": " ", "content": "x"}); e == nil || e.member("path") != "title" {
		t.Errorf("a blank title: %v", e)
	}
	id := p.memories(params{"scope": "session", "session_id": s.ID}).Memories[0].ID
	if _, e := p.try(v1.MethodMemoryUpdate, params{"memory_id": id, "importance": "low"}); e == nil || e.member("path") != "importance" {
		t.Errorf("an importance in a session: %v", e)
	}
	p.call(v1.MethodSessionClose, params{"session_id": s.ID})
	p.refused(v1.KindSessionClosed, v1.MethodMemoryCreate, params{"scope": "session", "session_id": s.ID, "category": "issue", "title": "x", "content": "x"})
	p.refused(v1.KindSessionClosed, v1.MethodMemoryUpdate, params{"memory_id": id, "title": "y"})
	p.refused(v1.KindSessionClosed, v1.MethodMemoryDelete, params{"memory_id": id})
	p.memories(params{"scope": "session", "session_id": s.ID})
}

// TestMemoryEvents: what changes is told to those who may see it, and to tickets that
// something did.
func TestMemoryEvents(t *testing.T) {
	w := newWorld(t, setup{
		model: llmtest.New(
			llmtest.Calls("", llmtest.Call{Name: "memory_save", Input: `{"scope":"user","category":"context","title":"Berlin","content":"Lives in Berlin."}`}),
			llmtest.Text("Noted."),
		),
		options: session.Options{MemoryTools: true}, edge: guarded(),
	})
	alice := w.as(alicesToken)
	s := alice.create(params{})
	full, chat, reader := w.scoped(v1.ScopeFull, s.ID), w.scoped(v1.ScopeChat, s.ID), w.scoped(v1.ScopeRead, s.ID)
	for _, p := range []*peer{full, chat, reader} {
		p.subscribe(s.ID, 0)
	}
	m := alice.remember(params{"scope": "session", "session_id": s.ID})
	alice.call(v1.MethodMemoryUpdate, params{"memory_id": m.ID, "title": "Spaces"})
	alice.call(v1.MethodMemoryDelete, params{"memory_id": m.ID})
	alice.remember(params{"scope": "user"}) // not of this session: no event
	alice.send(s.ID, "I live in Berlin.")

	owner := watch(full)
	want := []changeSeen{
		{v1.MemoryCreated, "Tabs", v1.MemoryByClient},
		{v1.MemoryUpdated, "Spaces", v1.MemoryByClient},
		{v1.MemoryDeleted, "", ""},
		{v1.MemoryCreated, "Berlin", v1.MemoryByModel},
	}
	if diff := cmp.Diff(want, owner); diff != "" {
		t.Errorf("the owner is told (-want +got):\n%s", diff)
	}
	for i := range want {
		want[i] = changeSeen{Change: want[i].Change}
	}
	if diff := cmp.Diff(want, watch(chat)); diff != "" {
		t.Errorf("a ticket is told (-want +got):\n%s", diff)
	}
	reader.silent(v1.NotifyProgress, v1.NotifyActivity)
	for _, scope := range []v1.Scope{v1.ScopeFull, v1.ScopeChat} {
		read, sees := 0, scope == v1.ScopeFull
		for _, raw := range w.scoped(scope).subscribe(s.ID, 0).Entries { // the same when it is read later
			e := decode[v1.Entry](t, raw)
			if e.Type != v1.EventMemoryChanged {
				continue
			}
			read++
			if d := decode[v1.MemoryChangedData](t, e.Data); (d.Memory != nil) != (sees && d.Change != v1.MemoryDeleted) {
				t.Errorf("a ticket of scope %s reads %s", scope, e.Data)
			}
		}
		if read != len(want) {
			t.Errorf("a ticket of scope %s reads %d changes, want %d", scope, read, len(want))
		}
	}
}

// changeSeen is what somebody sees of a memory.changed.
type changeSeen struct {
	Change v1.MemoryChange
	Title  string
	Source v1.MemorySource
}

// watch reads events until the turn ends.
func watch(p *peer) []changeSeen {
	p.t.Helper()
	var seen []changeSeen
	for {
		e := p.event()
		switch e.Type { //nolint:exhaustive // the others are not about memory
		case v1.EventTurnCompleted:
			return seen
		case v1.EventMemoryChanged:
			d := decode[v1.MemoryChangedData](p.t, e.Data)
			c := changeSeen{Change: d.Change}
			if d.MemoryID == "" {
				p.t.Errorf("told %s", e.Data)
			}
			if d.Memory != nil {
				c.Title, c.Source = d.Memory.Title, d.Memory.Source
			}
			seen = append(seen, c)
		}
	}
}

// TestMemoryIsTheOwners: neither tickets of a scope below full nor tickets for certain
// sessions may touch it, of whatever scope it is.
func TestMemoryIsTheOwners(t *testing.T) {
	w := newWorld(t, setup{edge: guarded()})
	alice := w.as(alicesToken)
	s := alice.create(params{})
	id := alice.remember(params{"scope": "user"}).ID
	for name, p := range map[string]*peer{
		"read": w.scoped(v1.ScopeRead), "chat": w.scoped(v1.ScopeChat), "full, for one session": w.scoped(v1.ScopeFull, s.ID),
	} {
		t.Run(name, func(*testing.T) {
			for _, of := range scopes(s.ID) {
				p.refused(v1.KindForbidden, v1.MethodMemoryList, of)
				p.refused(v1.KindForbidden, v1.MethodMemoryCreate, both(of, params{"category": "issue", "title": "x", "content": "x"}))
			}
			p.refused(v1.KindForbidden, v1.MethodMemoryUpdate, params{"memory_id": id, "title": "x"})
			p.refused(v1.KindForbidden, v1.MethodMemoryDelete, params{"memory_id": id})
		})
	}
	bob := w.as(bobsToken)
	if listed := bob.memories(params{"scope": "user"}); len(listed.Memories) > 0 {
		t.Errorf("bob sees %+v", listed)
	}
	if listed := w.scoped(v1.ScopeFull).memories(params{"scope": "user"}); len(listed.Memories) != 1 {
		t.Errorf("a full ticket sees %+v", listed)
	}
}

// TestCacheReport: a session and its turns tell what the prompt cache did to their cost.
func TestCacheReport(t *testing.T) {
	prices, err := llm.NewPrices(map[string]llm.Price{"small": {Rates: llm.Rates{Input: 10, CacheRead: 1, CacheWrite5m: 12.5, CacheWrite1h: 20, Output: 50}}})
	if err != nil {
		t.Fatal(err)
	}
	const million = 1_000_000
	used := message.Usage{Input: million, CacheRead: million, CostUSD: 11}
	w := newWorld(t, setup{model: llmtest.New(llmtest.Text("ok").WithUsage(used)), options: session.Options{Prices: prices}})
	p := w.dial()
	s := p.create(params{})
	if (s.Cache != v1.CacheReport{}) {
		t.Errorf("before: %+v", s.Cache)
	}
	p.subscribe(s.ID, 0)
	sent := p.send(s.ID, "hello")
	p.await(v1.EventTurnCompleted)
	want := v1.CacheReport{HitRate: 0.5, ChatHitRate: 0.5, IdealHitRate: 0.5, UncachedUSD: 20, SavedUSD: 9}
	if diff := cmp.Diff(want, p.get(s.ID).Cache, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
	turn := decode[v1.TurnGetResult](t, p.call(v1.MethodTurnGet, params{"session_id": s.ID, "turn_id": sent.TurnID})).Turn
	if turn.CostUSD != 11 || turn.UncachedUSD != 20 || turn.SavedUSD != 9 || turn.HitRate != 0.5 {
		t.Errorf("the turn cost %v, uncached %v, saved %v, hit rate %v", turn.CostUSD, turn.UncachedUSD, turn.SavedUSD, turn.HitRate)
	}
}

// TestCacheWarning: a session whose requests are not found in the cache says so, once.
func TestCacheWarning(t *testing.T) {
	model := llmtest.New(llmtest.Text("one").WithUsage(message.Usage{Input: 50_000, CacheWrite5m: 50_000}))
	for i := range 3 {
		model.Add(llmtest.Text(fmt.Sprint("answer ", i)).WithUsage(message.Usage{Input: 100_000, CacheWrite5m: 1, CacheRead: 1}))
	}
	opts := session.Options{CacheBreakpoints: true, Context: compaction.DefaultConfig()}
	opts.Context.ContextTokensLimit = 1_000_000
	w := newWorld(t, setup{model: model, options: opts})
	p := w.dial()
	s := p.create(params{})
	p.subscribe(s.ID, 0)
	var warned []v1.ContextWarningData
	for range 4 {
		p.send(s.ID, "hello")
		for {
			e := p.event()
			if e.Type == v1.EventContextWarning {
				warned = append(warned, decode[v1.ContextWarningData](t, e.Data))
			}
			if e.Type == v1.EventTurnCompleted {
				break
			}
		}
	}
	if len(warned) != 1 || warned[0].Kind != v1.WarningCache || warned[0].HitRate == nil || warned[0].IdealHitRate == nil ||
		*warned[0].HitRate >= *warned[0].IdealHitRate || warned[0].FirstDifference != "nothing that was sent" || warned[0].Message == "" {
		t.Errorf("warned: %+v", warned)
	}
}
