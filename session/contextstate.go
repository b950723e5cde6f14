package session

import (
	"time"

	"sessiond/compaction"
)

// contextState is what decides the next requests besides the log; it is a part of the
// session's row.
type contextState struct {
	Generation int64              `json:"generation,omitempty"`
	Ladder     compaction.Ladder  `json:"ladder,omitzero"`
	Breaker    compaction.Breaker `json:"breaker,omitzero"`
	Growth     compaction.Growth  `json:"growth,omitzero"`
	// Ratios are the calibrations by model.
	Ratios map[string]compaction.Calibration `json:"ratios,omitempty"`
	// Counted are the texts that stand beside the conversation, by what they are.
	Counted map[string]countedText `json:"counted,omitempty"`
	// Warned is the overhead that was warned of last, in raw tokens.
	Warned int `json:"warned,omitempty"`
	// Todo is set once the session has had a todo list.
	Todo *todoState `json:"todo,omitempty"`
	// Gauge is how full the context is, MeasuredShape the shape of the view when the
	// provider last counted it.
	Gauge         *Gauge `json:"gauge,omitempty"`
	MeasuredShape string `json:"measured_shape,omitempty"`
	// Asked is set while a compaction that a client asked for waits or runs: if the server
	// stops then, the client is told at the next start that it will not come.
	Asked bool `json:"asked,omitempty"`
	// Memory is how far the session's memory goes.
	Memory memoryState `json:"memory,omitzero"`
	// Cache is how the prompt cache is used.
	Cache cacheState `json:"cache,omitzero"`
	// LastCall is the newest chat call that succeeded.
	LastCall *lastCall `json:"last_call,omitempty"`
}

// countedText is what a text costs, so that it is counted once.
type countedText struct {
	Digest   string `json:"digest"`
	Encoding string `json:"encoding"`
	Tokens   int    `json:"tokens"`
}

// todoState says who made the todo list as it is: the seq of the message whose tool call
// did, or 0 for a client.
type todoState struct {
	BySeq int64 `json:"by_seq,omitempty"`
}

// upTo is what it says of the same list in a copy of the log up to a seq.
func (t *todoState) upTo(seq int64) *todoState {
	if t == nil || t.BySeq <= seq {
		return t
	}
	return &todoState{}
}

// lastCall is what repeating a request may save.
type lastCall struct {
	At       time.Time `json:"at"`
	Model    string    `json:"model"`
	Tokens   int       `json:"tokens"` // as the provider counted its input
	Thinking bool      `json:"thinking,omitempty"`
}

// ratio returns the calibration of a model.
func (a *actor) ratio(model string) compaction.Calibration {
	if k, ok := a.st.Context.Ratios[model]; ok {
		return k
	}
	return compaction.NewCalibration(a.m.models.info(model).ratio)
}

// setRatio keeps the calibration of a model.
func (a *actor) setRatio(model string, k compaction.Calibration) {
	if a.st.Context.Ratios == nil {
		a.st.Context.Ratios = make(map[string]compaction.Calibration, 1)
	}
	a.st.Context.Ratios[model] = k
}

// countOnce counts a text that stands beside the conversation, unless it was counted the
// last time.
func (a *actor) countOnce(what, text string) int {
	return a.st.Context.countOnce(a.m.planner.Encoding(), a.m.opts.Counter, what, text)
}

func (s *contextState) countOnce(encoding string, counter compaction.Counter, what, text string) int {
	digest := digestOf(text)
	known := s.Counted[what]
	if known.Digest == digest && known.Encoding == encoding {
		return known.Tokens
	}
	if s.Counted == nil {
		s.Counted = make(map[string]countedText)
	}
	n := counter.Count(text)
	s.Counted[what] = countedText{digest, encoding, n}
	return n
}

// fixedCost is what was last known of what stands beside the conversation in each request,
// memories not counted.
type fixedCost struct {
	tokens int     // raw
	ratio  float64 // of the model's tokens to raw ones; 0: not calibrated yet
}

func (s *contextState) fixed(settings *Settings) fixedCost {
	n := s.Counted["system"].Tokens + s.Counted["tools"].Tokens
	if settings.AgentPrompt != "" {
		n += s.Counted[string(compaction.AttachAgentPrompt)].Tokens
	}
	if len(settings.TodoList) > 0 {
		n += s.Counted[string(compaction.AttachTodoList)].Tokens
	}
	return fixedCost{tokens: n, ratio: s.Ratios[settings.Model].Ratio}
}

// pause says why no automatic summary is made at the moment, nil if nothing is in its way.
func (s *contextState) pause(now time.Time) *Pause {
	switch {
	case s.Breaker.Paused:
		return &Pause{Reason: PauseNoProgress}
	case now.Before(s.Breaker.Until):
		return &Pause{Reason: PauseSummariser, Until: s.Breaker.Until}
	}
	return nil
}
