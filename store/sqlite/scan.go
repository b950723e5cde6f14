package sqlite

import (
	"database/sql"
	"fmt"
	"time"

	"sessiond/store"
)

// row is a result row, of a query for one or for many.
type row interface {
	Scan(into ...any) error
}

// scanner reads a row in the order of the columns in statements.go.
type scanner[T any] func(r row, into *T) error

func scanSession(r row, s *store.Session) error {
	var created, updated int64
	var closed sql.NullInt64
	if err := r.Scan(&s.ID, &s.LogID, &s.Owner, &s.Title, &s.Status, &s.Version, &s.HeadSeq, &s.Settings, &s.State,
		&created, &updated, &closed); err != nil {
		return err
	}
	s.Settings, s.State = orNil(s.Settings), orNil(s.State)
	s.CreatedAt, s.UpdatedAt, s.ClosedAt = moment(created), moment(updated), momentOrZero(closed)
	return nil
}

func scanRef(r row, ref *store.Ref) error { return r.Scan(&ref.Owner, &ref.ID) }

func scanEntry(r row, e *store.Entry) error {
	var at int64
	if err := r.Scan(&e.Seq, &e.Kind, &e.TurnID, &e.MessageID, &e.Body, &e.Tokens, &at); err != nil {
		return err
	}
	e.Body, e.At = orNil(e.Body), moment(at)
	return nil
}

func scanTurn(r row, t *store.Turn) error {
	var created int64
	var started, completed sql.NullInt64
	if err := r.Scan(&t.ID, &t.MessageID, &t.CreatedSeq, &t.StartedSeq, &t.Status, &t.Rounds, &t.Resumes, &t.Detail,
		&created, &started, &completed); err != nil {
		return err
	}
	t.Detail = orNil(t.Detail)
	t.CreatedAt, t.StartedAt, t.CompletedAt = moment(created), momentOrZero(started), momentOrZero(completed)
	return nil
}

func scanKey(r row, k *store.KeyRecord) error {
	var fingerprint []byte
	var expires sql.NullInt64
	if err := r.Scan(&fingerprint, &k.Result, &expires); err != nil {
		return err
	}
	if copy(k.Fingerprint[:], fingerprint) != len(k.Fingerprint) {
		return fmt.Errorf("fingerprint of %d bytes", len(fingerprint))
	}
	k.Result, k.ExpiresAt = orNil(k.Result), momentOrZero(expires)
	return nil
}

// micros is a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOrNull is a time that may be zero as it is stored.
func microsOrNull(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func momentOrZero(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return moment(micros.Int64)
}

// orNil is b, or nil if it is empty.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
