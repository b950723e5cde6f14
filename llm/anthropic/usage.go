package anthropic

import "sessiond/message"

// wireUsage is usage as the API reports it: in message_start, and again, cumulative
// and without the split by lifetime, in message_delta.
type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Split      *struct {
		FiveMinutes int64 `json:"ephemeral_5m_input_tokens"`
		Hour        int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// merge takes over what v says; what it leaves out stays.
func (u *wireUsage) merge(v wireUsage) {
	for _, f := range []struct{ dst, src **int64 }{
		{&u.Input, &v.Input},
		{&u.Output, &v.Output},
		{&u.CacheRead, &v.CacheRead},
		{&u.CacheWrite, &v.CacheWrite},
	} {
		if *f.src != nil {
			*f.dst = *f.src
		}
	}
	if v.Split != nil {
		u.Split = v.Split
	}
	if v.Details != nil {
		u.Details = v.Details
	}
}

func (u *wireUsage) usage() message.Usage {
	value := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	out := message.Usage{Input: value(u.Input), Output: value(u.Output), CacheRead: value(u.CacheRead)}
	if u.Split != nil {
		out.CacheWrite5m, out.CacheWrite1h = u.Split.FiveMinutes, u.Split.Hour
	}
	// Writes that nobody split are of the default lifetime.
	if rest := value(u.CacheWrite) - out.CacheWrite5m - out.CacheWrite1h; rest > 0 {
		out.CacheWrite5m += rest
	}
	if u.Details != nil {
		out.Reasoning = u.Details.Thinking
	}
	return out
}
