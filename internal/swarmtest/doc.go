// Package swarmtest plays many clients against a server whose connections, or whose
// process, they lose again and again, and then judges what is left.
//
// A [Swarm] has sessions that all its clients share. Followers keep each session's log
// over one connection after the other and answer its tool calls, all competing for the
// same ones. Senders send messages under idempotency keys and repeat each until it is
// acknowledged. Every connection is cut after a random number of bytes, in the middle
// of a frame as well as anywhere else, and some are read so slowly that the server has
// to give them up.
//
// [Swarm.Settle] lets all turns end; [Swarm.Verify] then compares every follower's log
// with the server's, entry by entry and byte by byte, and looks for each acknowledged
// message in it.
//
// The random choices follow from a seed; what the network and the scheduler make of
// them does not repeat. Nothing here waits for a certain time, but every wait ends with
// the context it was given.
package swarmtest
