package demo

import (
	"regexp"
	"strconv"
	"strings"
)

// said is a message in a conversation that was given as one text.
type said struct {
	seq  int
	role string
	text string // without calls and results
}

// readTranscript finds the messages of a conversation that a request gives as one text
// between transcript tags, or nil if it gives none.
func readTranscript(text string) []said {
	_, text, found := strings.Cut(text, "<transcript>\n")
	if !found {
		return nil
	}
	if end := strings.LastIndex(text, "</transcript>"); end >= 0 {
		text = text[:end]
	}
	heading := regexp.MustCompile(`(?m)^\[#(\d+) (user|assistant)\]$`)
	var all []said
	places := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		seq, err := strconv.Atoi(text[at[2]:at[3]])
		if err != nil {
			continue
		}
		all = append(all, said{seq: seq, role: text[at[4]:at[5]], text: wordsOf(text[at[1]:end])})
	}
	return all
}

// wordsOf leaves out what a message did, and keeps what it said.
func wordsOf(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "(calls ") || strings.HasPrefix(line, "(result of ") || strings.HasPrefix(line, "(thinking) ") {
			break
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}
