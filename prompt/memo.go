package prompt

import "sessiond/llm"

// Memo remembers which raw JSON of a conversation was found valid and what its images say
// of themselves, so that a request that grows by a message is not read again from the
// start. It holds on to those;
// use one for each conversation, and let it go with the conversation. Results are the
// same with and without it. Not safe for concurrent use; the zero value is ready.
type Memo struct {
	valid  map[*byte]int     // first byte of the JSON → its length
	images map[string]looked // by their data
}

// looked is what was found when an image was looked at.
type looked struct {
	info imageInfo
	err  error
}

// Build is [Build] with what is remembered.
func (m *Memo) Build(req llm.Request) (*llm.Request, []Repair) { return build(req, m) }

func (m *Memo) knows(raw []byte) bool {
	return m != nil && len(raw) > 0 && m.valid[&raw[0]] == len(raw)
}

// note remembers raw, whose bytes nobody changes.
func (m *Memo) note(raw []byte) {
	if m == nil || len(raw) == 0 {
		return
	}
	if m.valid == nil {
		m.valid = make(map[*byte]int)
	}
	m.valid[&raw[0]] = len(raw)
}

// inspect is the function of that name, with what is remembered.
func (m *Memo) inspect(data string) (imageInfo, error) {
	if m == nil {
		return inspect(data)
	}
	l, ok := m.images[data]
	if !ok {
		l.info, l.err = inspect(data)
		if m.images == nil {
			m.images = make(map[string]looked)
		}
		m.images[data] = l
	}
	return l.info, l.err
}
