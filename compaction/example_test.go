package compaction_test

import (
	"fmt"
	"strings"
	"time"

	"sessiond/compaction"
	"sessiond/message"
	"sessiond/tokens"
)

// session is what an actor keeps: the state, which the log makes, and what is on its row.
type session struct {
	planner *compaction.Planner
	state   *compaction.State
	sit     compaction.Situation
	turn    message.TurnID
}

// prepare does all that has to be done before a model call and reports whether the
// request may be sent. Where a comment says stored, an actor commits and waits.
func (s *session) prepare(summarise func(compaction.SummaryRequest) compaction.Reply) bool {
	if c := s.planner.Microcompact(s.state, &s.sit); c != nil {
		s.state.Clear(c) // stored as context.cleared
	}
	for {
		step := s.planner.Next(s.state, &s.sit)
		s.sit.Breaker = step.Breaker // stored with the row
		switch step.Action {
		case compaction.ActionSend:
			return true
		case compaction.ActionOverflow:
			return false // the turn fails with context_overflow and State.Parts
		case compaction.ActionClear:
			s.state.Clear(step.Clearing) // stored as context.cleared
			s.sit.Trigger = compaction.TriggerAuto
		case compaction.ActionClimb:
			s.sit.Ladder = s.sit.Ladder.Refused() // stored before anything else
			s.sit.Trigger = compaction.TriggerOverflow
		case compaction.ActionCompact:
			s.compact(step.Plan, step.Budget, summarise)
			s.sit.Trigger = compaction.TriggerAuto
		}
	}
}

// compact carries out a plan.
func (s *session) compact(plan *compaction.Plan, b compaction.Budget, summarise func(compaction.SummaryRequest) compaction.Reply) {
	writer := plan.Writer
	var draft *compaction.Draft
	if writer == compaction.WriterModel {
		call := s.planner.StartCall(plan, compaction.CallOptions{}) // the rest may run elsewhere
		failure := ""
		for draft == nil && failure == "" {
			call, draft, failure = call.Take(summarise(call.Request()))
		}
		if failure != "" { // stored as compaction.failed
			j := s.planner.Fail(s.state, &s.sit, failure)
			s.sit.Breaker = s.sit.Breaker.Judged(plan, j, true, s.turn).Failed(s.sit.Now, 0)
			if writer = plan.Fallback(b); writer == compaction.WriterNone {
				return
			}
		}
	}
	if draft == nil {
		draft = s.planner.Write(plan, &s.sit, writer)
	}
	record, j := s.planner.Apply(s.state, &s.sit, plan, draft)
	s.sit.Breaker = s.sit.Breaker.Judged(plan, j, writer == compaction.WriterModel, s.turn)
	if !j.Outcome.Commits() {
		return // stored as compaction.failed
	}
	if err := s.state.Commit(record); err == nil { // stored as compaction.completed
		fmt.Printf("%s by %s: %d user messages kept in words\n", j.Outcome, record.Writer, record.Survived().UserMessages)
	}
}

// What an actor does around the core.
func Example() {
	encoding, err := tokens.New("o200k_base")
	if err != nil {
		fmt.Println(err)
		return
	}
	planner, err := compaction.New(compaction.DefaultConfig(), encoding, encoding.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	s := &session{planner: planner, state: compaction.NewState(), turn: "turn"}
	s.sit = compaction.Situation{
		Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Ratio: 1, Turn: s.turn, Trigger: compaction.TriggerAuto, Tools: planner.Tools(nil),
		Images: func(message.Image) int { return 1_500 },
	}
	add := func(seq int64, role message.Role, text string) {
		m := &message.Message{
			ID: message.ID(fmt.Sprint("m", seq)), Seq: seq, TurnID: s.turn, Role: role,
			Content: []message.Block{message.Text{Text: text}},
		}
		it := compaction.Item{Message: m, Measure: planner.Measure(m, nil, s.sit.Images)} // stored with the message
		if err := s.state.Append(it); err != nil {
			fmt.Println(err)
		}
	}
	add(1, message.RoleUser, "The port must be 8081.")
	for seq := int64(2); seq < 40; seq += 2 {
		add(seq, message.RoleAssistant, strings.Repeat("This is a long explanation of what was found. ", 80))
		add(seq+1, message.RoleUser, "Go on.")
	}
	sent := s.prepare(func(compaction.SummaryRequest) compaction.Reply {
		return compaction.Reply{Text: "## 1. Primary Request and Intent\nThe port is 8081.\n\n## 7. Pending Tasks\nThe fix.\n\n## 8. Current Work\nExplaining."}
	})
	view := s.state.View()
	fmt.Println(sent, len(view.Messages) < 20, strings.Contains(view.Messages[0].PlainText(), "The port must be 8081."))
	// Output:
	// applied by model: 14 user messages kept in words
	// true true true
}
