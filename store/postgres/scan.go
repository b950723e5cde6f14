package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"sessiond/store"
)

func scanSession(row pgx.CollectableRow) (s store.Session, err error) {
	var closed pgtype.Timestamptz
	err = row.Scan(&s.ID, &s.LogID, &s.Owner, &s.Title, &s.Status, &s.Version, &s.HeadSeq, &s.Settings, &s.State,
		&s.CreatedAt, &s.UpdatedAt, &closed)
	s.Settings, s.State = orNil(s.Settings), orNil(s.State)
	s.CreatedAt, s.UpdatedAt, s.ClosedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC(), orZero(closed)
	return s, err
}

func scanRef(row pgx.CollectableRow) (ref store.Ref, err error) {
	err = row.Scan(&ref.Owner, &ref.ID)
	return ref, err
}

func scanEntry(row pgx.CollectableRow) (e store.Entry, err error) {
	err = row.Scan(&e.Seq, &e.Kind, &e.TurnID, &e.MessageID, &e.Body, &e.Tokens, &e.At)
	e.Body, e.At = orNil(e.Body), e.At.UTC()
	return e, err
}

func scanTurn(row pgx.CollectableRow) (t store.Turn, err error) {
	var started, completed pgtype.Timestamptz
	err = row.Scan(&t.ID, &t.MessageID, &t.CreatedSeq, &t.StartedSeq, &t.Status, &t.Rounds, &t.Resumes, &t.Detail,
		&t.CreatedAt, &started, &completed)
	t.Detail = orNil(t.Detail)
	t.CreatedAt, t.StartedAt, t.CompletedAt = t.CreatedAt.UTC(), orZero(started), orZero(completed)
	return t, err
}

func scanKey(row pgx.CollectableRow) (k store.KeyRecord, err error) {
	var fingerprint []byte
	var expires pgtype.Timestamptz
	if err := row.Scan(&fingerprint, &k.Result, &expires); err != nil {
		return k, err
	}
	if copy(k.Fingerprint[:], fingerprint) != len(k.Fingerprint) {
		return k, fmt.Errorf("fingerprint of %d bytes", len(fingerprint))
	}
	k.Result, k.ExpiresAt = orNil(k.Result), orZero(expires)
	return k, nil
}

func scanTicket(row pgx.CollectableRow) (t store.Ticket, err error) {
	err = row.Scan(&t.Owner, &t.Origin, &t.Scope, &t.SessionIDs, &t.ExpiresAt)
	if len(t.SessionIDs) == 0 {
		t.SessionIDs = nil
	}
	t.ExpiresAt = t.ExpiresAt.UTC()
	return t, err
}

// orZero is a time that may be NULL.
func orZero(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// orNil is b, or nil if it is empty.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
