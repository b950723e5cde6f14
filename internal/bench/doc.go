// Package bench measures the whole server the way its users meet it, each figure next
// to a baseline from the same run: `make bench BENCH=Server PKG=./internal/bench`.
//
// It holds benchmarks only. What is measured as a process (CPU, memory, start) runs
// the built command; the rest runs the server in this process with an instant model.
// docs/benchmarks.md says what the figures mean and what they were.
package bench
