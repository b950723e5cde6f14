package compaction

// Level is how hard a compaction has to press: 0 in the ordinary way, 1 to 3 after a
// provider has refused a request.
type Level int

// The levels.
const (
	LevelNormal     Level = 0
	LevelLight      Level = 1
	LevelMedium     Level = 2
	LevelAggressive Level = 3
)

// attachmentRule says how much of the attachments a summary message shows.
type attachmentRule int

const (
	attachmentsFull    attachmentRule = iota
	attachmentsQuarter                // each cut to a quarter
	attachmentsFew                    // AGENT.md and the todo list, cut to a quarter; no others
)

// levelRule is a row of the table of levels.
type levelRule struct {
	keepResults  int // newest results of answered rounds that stay
	clears       bool
	retention    Retention
	sharePercent int // of the share that retention has to reach, if its minimum is larger
	attachments  attachmentRule
	recovery     Recovery
}

// rule returns the row of a level. No row allows more than the one above it, whatever
// is configured.
func (c *Config) rule(l Level) levelRule {
	r := levelRule{keepResults: c.Microcompact.Keep, retention: c.Retention, sharePercent: 60, recovery: c.Recovery}
	switch l {
	case LevelNormal:
		return r
	case LevelLight:
		r.keepResults = 3
		r.retention = Retention{MinTokens: 4_000, MinTexts: 3, MaxTokens: 10_000}
		r.sharePercent = 40
		r.recovery = Recovery{MaxFiles: 3, MaxTokens: 3_000, MaxTokensPerFile: 1_000}
	case LevelMedium:
		r.keepResults = 1
		r.retention = Retention{MinTokens: 2_000, MinTexts: 2, MaxTokens: 5_000}
		r.sharePercent = 20
		r.attachments = attachmentsQuarter
		r.recovery = Recovery{MaxFiles: 1, MaxTokens: 1_000, MaxTokensPerFile: 1_000}
	case LevelAggressive:
		r.keepResults = 0
		r.retention = Retention{MinTokens: 0, MinTexts: 1, MaxTokens: 1_000}
		r.sharePercent = 0
		r.attachments = attachmentsFew
		r.recovery = Recovery{}
	}
	r.clears = true
	r.retention.MinTokens = min(r.retention.MinTokens, c.Retention.MinTokens)
	r.retention.MinTexts = min(r.retention.MinTexts, c.Retention.MinTexts)
	r.retention.MaxTokens = min(r.retention.MaxTokens, c.Retention.MaxTokens)
	r.recovery.MaxFiles = min(r.recovery.MaxFiles, c.Recovery.MaxFiles)
	r.recovery.MaxTokens = min(r.recovery.MaxTokens, c.Recovery.MaxTokens)
	r.recovery.MaxTokensPerFile = min(r.recovery.MaxTokensPerFile, c.Recovery.MaxTokensPerFile)
	return r
}
