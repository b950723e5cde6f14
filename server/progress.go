package server

import (
	"encoding/json"

	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// Progress implements session.Subscriber. The newest one must arrive, so it is not
// dropped for a slow client as deltas are.
func (s *subscription) Progress(p *session.Progress) {
	s.send(p.Encoded(progressFrame), rpc.Durable)
}

func progressFrame(p *session.Progress) []byte {
	dst := frameHead(v1.NotifyProgress, p.SessionID, 0)
	g := wireProgress(p.Gauge)
	fields, err := json.Marshal(struct {
		v1.Progress
		Usage v1.Usage `json:"usage"`
	}{g, v1.Usage(p.Usage)})
	if err != nil { // numbers are finite, so there is nothing to fail
		return append(dst, "}}"...)
	}
	dst = append(dst, ',')
	dst = append(dst, fields[1:]...)
	return append(dst, '}')
}
