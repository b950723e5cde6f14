package server

import (
	"go.uber.org/zap"

	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// Progress implements session.Subscriber. The newest one must arrive, so it is not
// dropped for a slow client as deltas are.
func (s *subscription) Progress(p *session.Progress) {
	if frame := p.Encoded(s.c.server.progressFrame); frame != nil {
		s.send(frame, rpc.Durable)
	}
}

// progressFrame returns nil for what has no JSON form; numbers of sessions are finite.
func (s *Server) progressFrame(p *session.Progress) []byte {
	frame, err := s.notification(v1.NotifyProgress, v1.SessionProgress{
		SessionID: string(p.SessionID), Progress: wireProgress(p.Gauge), Usage: v1.Usage(p.Usage),
	})
	if err != nil {
		s.log.Error("progress can't be told", zap.Error(err))
		return nil
	}
	return frame
}
