package postgres

import (
	"cmp"
	"hash/fnv"
	"slices"

	"sessiond/store"
)

// lock waits for an advisory lock, which ends with its transaction.
const lock = `SELECT pg_advisory_xact_lock($1)`

// Where the keys of these locks begin: "sesm" and "sesx" in their upper halves.
const (
	memoryLocks = 0x7365736d << 32
	indexLocks  = 0x73657378 << 32
)

// lockKey is the key of a lock by the name of what is locked. Two names may share one.
func lockKey(space int64, name string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return space | int64(h.Sum32())
}

// memoryLock makes commits that change memories of one owner take turns; it is 0 for
// others. Sessions share memories of user scope, and two batches that lock some of them
// in different orders would wait for each other until the server breaks off one, a
// second later.
func memoryLock(c *store.Commit) int64 {
	if len(c.Memories) == 0 {
		return 0
	}
	return lockKey(memoryLocks, c.Session.Owner)
}

// indexLock makes those who index a session and who deletes it take turns, without
// holding up its commits: a text would come after the deletion has looked for texts.
func indexLock(ref store.Ref) int64 { return lockKey(indexLocks, string(ref.ID)) }

// lockOrder returns the indexes of changes in the order in which every batch takes its
// locks: those of memories last, by their keys, and sessions by their ids.
func lockOrder(changes []*change) []int {
	order := make([]int, len(changes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := changes[a].commit, changes[b].commit
		return cmp.Or(cmp.Compare(memoryLock(x), memoryLock(y)), cmp.Compare(x.Session.ID, y.Session.ID))
	})
	return order
}
