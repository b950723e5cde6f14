package postgres

import (
	"cmp"
	"hash/fnv"
	"slices"

	"sessiond/store"
)

// lockMemories makes commits that change memories of one owner take turns. Sessions
// share those of user scope, and two batches that lock some of them in different orders
// would wait for each other until the server breaks off one, a second later.
const lockMemories = `SELECT pg_advisory_xact_lock($1)`

// memoryLocks is where the keys of these locks begin ("sesm" in their upper half).
const memoryLocks = 0x7365736d << 32

// memoryLock is the lock that c needs, or 0. Two owners may share one.
func memoryLock(c *store.Commit) int64 {
	if len(c.Memories) == 0 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(c.Session.Owner)) // it never fails
	return memoryLocks | int64(h.Sum32())
}

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
