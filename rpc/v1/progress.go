package v1

// SessionProgress is the params of v1.session.progress.
type SessionProgress struct {
	SessionID string `json:"session_id" v:"uuid" doc:"The session."`
	Progress
	Usage Usage `json:"usage" doc:"What all its model calls used together."`
}
