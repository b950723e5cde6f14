package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"sessiond/store"
)

// SQLSTATEs that decide something here.
const (
	stateUniqueViolation = "23505"
	stateBadCharacter    = "22021" // a text with NUL, or that is no UTF-8
)

// The constraints whose violation has a meaning of its own.
const (
	constraintKey     = "idempotency_pkey"
	constraintRunning = "turns_running"
)

// isRolledBack reports whether the server itself refused something: it has then rolled
// the transaction back. Anything else, such as a broken connection or a server that
// goes down, leaves the outcome open.
func isRolledBack(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.SeverityUnlocalized == "ERROR"
}

// violates reports whether err is the violation of a unique constraint.
func violates(err error, constraint string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == stateUniqueViolation && pg.ConstraintName == constraint
}

// isUnstorable reports whether a text was refused that no row can hold. What is looked
// for under such a name is not there.
func isUnstorable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == stateBadCharacter
}

// asContract returns the error of the contract for what a commit failed with.
func asContract(err error) error {
	switch {
	case violates(err, constraintKey):
		return fmt.Errorf("%w (%w)", store.ErrKeyExists, err)
	case violates(err, constraintRunning):
		return fmt.Errorf("a second turn would run: %w (%w)", store.ErrConflict, err)
	}
	return err
}
