// Package storetest is the suite that every [store.Store] must pass. A rule of the
// contract that matters is a subtest here, so that no driver can forget it.
//
// [Run] takes an opener and needs nothing else. Drivers whose data outlives the
// process add [RunReopen] and [RunCrash]; [Alternate] measures one against a
// baseline.
package storetest

import (
	"testing"

	"sessiond/store"
)

// Opener returns a store that no other test uses and that is empty. The suite closes
// it; closing it again must do no harm.
type Opener func(t *testing.T) store.Store

// Run checks every rule of the contract that one open store can show.
func Run(t *testing.T, open Opener) {
	t.Helper()
	groups := []struct {
		name  string
		rules []rule
	}{
		{"Create", createRules},
		{"Commit", commitRules},
		{"Session", sessionRules},
		{"List", listRules},
		{"Delete", deleteRules},
		{"Entries", entryRules},
		{"Turns", turnRules},
		{"Keys", keyRules},
		{"Tickets", ticketRules},
		{"Memories", memoryRules},
		{"Limits", limitRules},
		{"Search", searchRules},
		{"Concurrency", concurrencyRules},
		{"Model", modelRules},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			for _, r := range g.rules {
				t.Run(r.name, func(t *testing.T) { r.check(newBench(t, s)) })
			}
		})
	}
	t.Run("Close", func(t *testing.T) {
		for _, r := range closeRules {
			t.Run(r.name, func(t *testing.T) { r.check(newBench(t, open(t))) })
		}
	})
}

// rule is one sentence of the contract and what shows it. Rules of a group share a
// store, so each works with owners and ids of its own.
type rule struct {
	name  string
	check func(b *bench)
}
