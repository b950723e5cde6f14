package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"sessiond/message"
	"sessiond/store"
)

// args returns the parameters of the statement for c.
func args(c *store.Commit, create bool) []any {
	var list []any
	if create {
		list = insertArgs(&c.Session)
	} else {
		list = updateArgs(c)
	}
	list = append(list, entryArgs(c.Entries)...)
	if len(c.Turns) > 0 {
		list = append(list, turnArgs(store.RunningLast(c.Turns))...)
	}
	if len(c.Memories) > 0 {
		list = append(list, memoryArgs(c.Memories)...)
	}
	if len(c.Keys) > 0 {
		list = append(list, keyArgs(c.Keys)...)
	}
	return list
}

func insertArgs(s *store.Session) []any {
	return []any{
		s.ID, s.Owner, s.LogID, s.Title, s.Status, s.Version, s.HeadSeq, notNull(s.Settings), notNull(s.State),
		s.CreatedAt, s.UpdatedAt, orNull(s.ClosedAt),
	}
}

func updateArgs(c *store.Commit) []any {
	s := &c.Session
	return []any{
		s.ID, s.Owner, c.PrevHead, s.Title, s.Status, s.Version, s.HeadSeq, s.Settings, notNull(s.State),
		s.UpdatedAt, orNull(s.ClosedAt),
	}
}

func entryArgs(entries []store.Entry) []any {
	n := len(entries)
	seqs, tokens := make([]int64, n), make([]int64, n)
	kinds, turns, messages := make([]string, n), make([]message.TurnID, n), make([]message.ID, n)
	bodies, times := make([][]byte, n), make([]time.Time, n)
	for i := range entries {
		e := &entries[i]
		seqs[i], kinds[i], turns[i], messages[i] = e.Seq, e.Kind, e.TurnID, e.MessageID
		bodies[i], tokens[i], times[i] = notNull(e.Body), e.Tokens, e.At
	}
	return []any{seqs, kinds, turns, messages, bodies, tokens, times}
}

func turnArgs(turns []store.Turn) []any {
	n := len(turns)
	ids, messages, states := make([]message.TurnID, n), make([]message.ID, n), make([]store.TurnStatus, n)
	createdSeqs, startedSeqs := make([]int64, n), make([]int64, n)
	rounds, resumes, details := make([]int, n), make([]int, n), make([][]byte, n)
	created, started, completed := make([]time.Time, n), make([]pgtype.Timestamptz, n), make([]pgtype.Timestamptz, n)
	for i := range turns {
		t := &turns[i]
		ids[i], messages[i], states[i] = t.ID, t.MessageID, t.Status
		createdSeqs[i], startedSeqs[i] = t.CreatedSeq, t.StartedSeq
		rounds[i], resumes[i], details[i] = t.Rounds, t.Resumes, notNull(t.Detail)
		created[i], started[i], completed[i] = t.CreatedAt, orNull(t.StartedAt), orNull(t.CompletedAt)
	}
	return []any{
		ids, messages, createdSeqs, startedSeqs, states, rounds, resumes, details, created, started, completed,
	}
}

func keyArgs(keys []store.KeyRecord) []any {
	n := len(keys)
	owners, methods, sessions := make([]string, n), make([]string, n), make([]message.SessionID, n)
	texts, fingerprints, results := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	expiries := make([]pgtype.Timestamptz, n)
	for i := range keys {
		k := &keys[i]
		owners[i], sessions[i], methods[i], texts[i] = k.Owner, k.SessionID, k.Method, []byte(k.Key)
		fingerprints[i], results[i], expiries[i] = k.Fingerprint[:], notNull(k.Result), orNull(k.ExpiresAt)
	}
	return []any{owners, sessions, methods, texts, fingerprints, results, expiries}
}

// notNull is b, or an empty slice for nil, which would be NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// orNull is a time that may be zero.
func orNull(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}
