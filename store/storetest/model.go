package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessiond/message"
	"sessiond/store"
)

var modelRules = []rule{
	{"agrees with a simple model in any order of calls", func(b *bench) {
		rapid.Check(b.T, func(rt *rapid.T) {
			m := newModel(newBench(b.T, b.Store))
			rt.Repeat(map[string]func(*rapid.T){
				"create": m.create,
				"commit": m.commit,
				"again":  m.commit, // the most frequent call deserves a larger share
				"more":   m.commit,
				"delete": m.delete,
				"purge":  m.purge,
				"forget": m.forget,
				"":       m.agreeOnTouched,
			})
			m.agree(rt)
		})
	}},
}

// model is what a store should hold of one owner's sessions, kept the plainest way.
type model struct {
	b        *bench
	clock    int
	ids      []message.SessionID // in order of creation, deleted ones too
	sessions map[message.SessionID]*modelSession
	keys     map[store.KeyScope]store.KeyRecord
	memories map[message.MemoryID]store.Memory
	touched  message.SessionID // by the last call, or empty
}

type modelSession struct {
	row     store.Session
	entries []store.Entry
	turns   map[message.TurnID]store.Turn
	deleted bool
}

func newModel(b *bench) *model {
	return &model{
		b:        b,
		sessions: make(map[message.SessionID]*modelSession),
		keys:     make(map[store.KeyScope]store.KeyRecord),
		memories: make(map[message.MemoryID]store.Memory),
	}
}

func (m *model) create(rt *rapid.T) {
	m.clock++
	c := m.b.create(0)
	if len(m.ids) > 0 && rapid.IntRange(0, 9).Draw(rt, "taken") == 0 {
		c.Session.ID = rapid.SampledFrom(m.ids).Draw(rt, "id")
	}
	c.Session.CreatedAt = at(m.clock)
	m.fill(rt, c, nil)

	m.touched = c.Session.ID
	errs := m.expect(c, &modelSession{})
	if m.sessions[c.Session.ID] != nil {
		errs = append(errs, store.ErrConflict)
	}
	if m.judge(rt, "create", m.b.Create(rt.Context(), c), errs) {
		m.ids = append(m.ids, c.Session.ID)
		m.sessions[c.Session.ID] = &modelSession{turns: make(map[message.TurnID]store.Turn)}
		m.apply(c)
	}
}

func (m *model) commit(rt *rapid.T) {
	if len(m.ids) == 0 {
		rt.Skip("no session yet")
	}
	m.clock++
	s := m.sessions[rapid.SampledFrom(m.ids).Draw(rt, "session")]
	c := &store.Commit{Session: s.row, PrevHead: s.row.HeadSeq}
	c.Session.Settings = nil
	var errs []error
	switch rapid.IntRange(0, 9).Draw(rt, "odd") {
	case 0:
		c.PrevHead += rapid.Int64Range(1, 3).Draw(rt, "off")
		errs = append(errs, store.ErrConflict)
	case 1:
		c.Session.Owner += "-other"
		errs = append(errs, store.ErrNotFound)
	}
	if s.deleted {
		errs = []error{store.ErrNotFound}
	}
	c.Session.HeadSeq = c.PrevHead
	m.fill(rt, c, s)
	m.touched = c.Session.ID
	if m.judge(rt, "commit", m.b.Commit(rt.Context(), c), append(errs, m.expect(c, s)...)) {
		m.apply(c)
	}
}

// fill draws the new row, entries, turns, memories and keys of c, a commit to s or a create.
func (m *model) fill(rt *rapid.T, c *store.Commit, s *modelSession) {
	c.Session.UpdatedAt = at(m.clock - rapid.IntRange(0, 2).Draw(rt, "late"))
	c.Session.Status = rapid.SampledFrom([]store.Status{
		store.StatusIdle, store.StatusRunning, store.StatusWaitingTool, store.StatusCompacting, store.StatusClosed,
	}).Draw(rt, "status")
	c.Session.State = fmt.Appendf(nil, `{"clock":%d}`, m.clock)
	if s == nil || rapid.Bool().Draw(rt, "settings") {
		c.Session.Settings = fmt.Appendf(nil, `{"set":%d}`, m.clock)
		c.Session.Version++
	}
	addEntries(c, rapid.IntRange(0, 3).Draw(rt, "entries"))

	states := rapid.SampledFrom([]store.TurnStatus{
		store.TurnQueued, store.TurnRunning, store.TurnRunning, store.TurnCompleted, store.TurnDropped,
	})
	if s != nil && len(s.turns) > 0 {
		old := slices.SortedFunc(maps.Values(s.turns), byCreatedSeq)
		for _, tn := range old[:rapid.IntRange(0, min(2, len(old))).Draw(rt, "changed turns")] {
			tn.Status = states.Draw(rt, "changed to")
			tn.Rounds++
			c.Turns = append(c.Turns, tn)
		}
	}
	if len(c.Entries) > 0 && rapid.Bool().Draw(rt, "new turn") {
		tn := turn(c)
		tn.Status = states.Draw(rt, "turn")
		c.Turns = append(c.Turns, tn)
	}
	m.fillMemories(rt, c)
	for range rapid.IntRange(0, 2).Draw(rt, "keys") {
		k := key(c, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "key"))
		k.Result = fmt.Appendf(nil, `%d`, m.clock)
		if rapid.Bool().Draw(rt, "of the owner") {
			k.SessionID = ""
			k.ExpiresAt = at(m.clock + rapid.IntRange(0, 5).Draw(rt, "expiry"))
		}
		c.Keys = append(c.Keys, k)
	}
}

// expect returns the errors that the turns and keys of c give cause for.
func (m *model) expect(c *store.Commit, s *modelSession) []error {
	var errs []error
	turns := maps.Clone(s.turns)
	if turns == nil {
		turns = make(map[message.TurnID]store.Turn)
	}
	for _, tn := range c.Turns {
		turns[tn.ID] = tn
	}
	active := 0
	for _, tn := range turns {
		if tn.Status == store.TurnRunning {
			active++
		}
	}
	if active > 1 {
		errs = append(errs, store.ErrConflict)
	}
	seen := make(map[store.KeyScope]bool)
	for _, k := range c.Keys {
		if m.live(k.KeyScope, c.Session.UpdatedAt) || seen[k.KeyScope] {
			errs = append(errs, store.ErrKeyExists)
		}
		seen[k.KeyScope] = true
	}
	return errs
}

func (m *model) live(scope store.KeyScope, now time.Time) bool {
	k, ok := m.keys[scope]
	return ok && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(now))
}

// judge compares an outcome with the acceptable errors and reports success. Which of
// several errors a store names is its own affair.
func (m *model) judge(rt *rapid.T, what string, err error, acceptable []error) bool {
	if len(acceptable) == 0 {
		if err != nil {
			rt.Fatalf("%s: %v, want success", what, err)
		}
		return true
	}
	if !slices.ContainsFunc(acceptable, func(want error) bool { return errors.Is(err, want) }) {
		rt.Fatalf("%s: %v, want one of %v", what, err, acceptable)
	}
	return false
}

func (m *model) apply(c *store.Commit) {
	s := m.sessions[c.Session.ID]
	settings := s.row.Settings
	s.row = c.Session
	if s.row.Settings == nil {
		s.row.Settings = settings
	}
	s.entries = append(s.entries, c.Entries...)
	for _, tn := range c.Turns {
		s.turns[tn.ID] = tn
	}
	for _, k := range c.Keys {
		m.keys[k.KeyScope] = k
	}
	m.applyMemories(c)
}

func (m *model) delete(rt *rapid.T) {
	if len(m.ids) == 0 || rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
		rt.Skip("nothing to delete")
	}
	id := rapid.SampledFrom(m.ids).Draw(rt, "session")
	m.touched = id
	s := m.sessions[id]
	deleted, err := m.b.DeleteSession(rt.Context(), store.Ref{Owner: m.b.owner, ID: id}, at(m.clock))
	if err != nil || deleted == s.deleted {
		rt.Fatalf("delete: %v, %v; deleted before: %v", deleted, err, s.deleted)
	}
	s.deleted = true
	s.entries, s.turns = nil, make(map[message.TurnID]store.Turn)
	maps.DeleteFunc(m.keys, func(k store.KeyScope, _ store.KeyRecord) bool { return k.SessionID == id })
	maps.DeleteFunc(m.memories, func(_ message.MemoryID, x store.Memory) bool { return x.SessionID == id })
}

func (m *model) purge(rt *rapid.T) {
	n, err := m.b.PurgeKeys(rt.Context(), at(m.clock))
	if err != nil {
		rt.Fatalf("purge: %v", err)
	}
	before := len(m.keys)
	maps.DeleteFunc(m.keys, func(k store.KeyScope, _ store.KeyRecord) bool { return !m.live(k, at(m.clock)) })
	if int(n) < before-len(m.keys) { // other owners' keys may expire too
		rt.Fatalf("purged %d, want at least %d", n, before-len(m.keys))
	}
}

// agreeOnTouched compares the session of the last call, after each call.
func (m *model) agreeOnTouched(rt *rapid.T) {
	if s := m.sessions[m.touched]; s != nil {
		m.agreeOn(rt.Context(), rt, store.Ref{Owner: m.b.owner, ID: m.touched}, s)
	}
}

// agree compares all that the store and the model hold, at the end.
func (m *model) agree(rt *rapid.T) {
	ctx := rt.Context()
	var list []store.Session
	for _, id := range m.ids {
		s := m.sessions[id]
		if !s.deleted {
			list = append(list, s.row)
		}
		m.agreeOn(ctx, rt, store.Ref{Owner: m.b.owner, ID: id}, s)
	}
	slices.SortFunc(list, func(a, b store.Session) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	got, err := m.b.ListSessions(ctx, store.ListQuery{Owner: m.b.owner, Limit: 1000})
	m.same(rt, "list", list, got, err)
	for scope, want := range m.keys {
		got, err := m.b.Key(ctx, scope, at(m.clock))
		if !m.live(scope, at(m.clock)) {
			if !errors.Is(err, store.ErrNotFound) {
				rt.Fatalf("expired key: %v", err)
			}
			continue
		}
		m.same(rt, "key", &want, got, err)
	}
}

func (m *model) agreeOn(ctx context.Context, rt *rapid.T, r store.Ref, s *modelSession) {
	row, err := m.b.Session(ctx, r)
	if s.deleted {
		if !errors.Is(err, store.ErrNotFound) {
			rt.Fatalf("deleted session: %v", err)
		}
	} else {
		m.same(rt, "row", &s.row, row, err)
	}
	entries, err := m.b.Entries(ctx, store.EntryQuery{Ref: r})
	m.same(rt, "entries", s.entries, entries, err)

	turns := slices.SortedFunc(maps.Values(s.turns), byCreatedSeq)
	var open []store.Turn
	for _, tn := range turns {
		if tn.Status == store.TurnQueued || tn.Status == store.TurnRunning {
			open = append(open, tn)
		}
	}
	gotOpen, err := m.b.OpenTurns(ctx, r)
	m.same(rt, "open turns", open, gotOpen, err)
	slices.Reverse(turns)
	gotTurns, err := m.b.ListTurns(ctx, r, 0, 1000)
	m.same(rt, "turns", turns, gotTurns, err)
	m.agreeOnMemories(ctx, rt, r)
	m.agreeOnMemories(ctx, rt, store.Ref{Owner: m.b.owner})
}

func (m *model) same(rt *rapid.T, what string, want, got any, err error) {
	if err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
	if d := gocmp.Diff(want, got); d != "" {
		rt.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// byCreatedSeq orders turns; each has an entry of its own here.
func byCreatedSeq(a, b store.Turn) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) }
