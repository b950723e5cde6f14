package tokens

import "unicode/utf8"

// maxCluster is the number of bytes up to which characters that belong together are
// kept together: enough for a family with skin tones. Behind that, and for scripts
// whose letters join in other ways, only characters stay whole.
const maxCluster = 64

const (
	joiner           = '\u200d'     // zero width
	firstRegional    = '\U0001f1e6' // two regional indicators are a flag
	lastRegional     = '\U0001f1ff'
	firstSkinTone    = '\U0001f3fb'
	lastSkinTone     = '\U0001f3ff'
	firstTag         = '\U000e0020' // tags make the flags of regions
	lastTag          = '\U000e007f'
	firstJamoInside  = '\u1160' // Hangul vowels and finals
	lastJamoInside   = '\u11ff'
	firstJamoInsideB = '\ud7b0'
	lastJamoInsideB  = '\ud7fb'
)

// clusterStart returns the start of the cluster that text[i] is within, or else i.
func (c *classes) clusterStart(text string, i int) int {
	i, _ = runeAround(text, i)
	for start := i; i-start < maxCluster; {
		if !c.insideCluster(text, start) {
			return start
		}
		_, n := utf8.DecodeLastRuneInString(text[:start])
		start -= n
	}
	return i
}

// clusterEnd returns the end of the cluster that text[i] is within, or else i.
func (c *classes) clusterEnd(text string, i int) int {
	_, i = runeAround(text, i)
	for end := i; end-i < maxCluster; {
		if !c.insideCluster(text, end) {
			return end
		}
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	return i
}

// runeAround returns where the character begins and ends that i is in the middle of, or
// else i twice.
func runeAround(text string, i int) (start, end int) {
	for start := i - 1; start >= max(0, i-utf8.UTFMax+1) && i < len(text); start-- {
		if _, n := utf8.DecodeRuneInString(text[start:]); start+n > i {
			return start, start + n
		}
	}
	return i, i
}

// insideCluster reports whether the characters before and behind i, which is the start
// of a character or the end of the text, are seen as one.
func (c *classes) insideCluster(text string, i int) bool {
	if i == 0 || i == len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	behind, _ := utf8.DecodeRuneInString(text[i:])
	switch k, _ := c.at(text, i); {
	case before == '\n' || before == '\r':
		return before == '\r' && behind == '\n'
	case k&mark != 0, behind == joiner, before == joiner && k == other,
		firstSkinTone <= behind && behind <= lastSkinTone,
		firstTag <= behind && behind <= lastTag,
		firstJamoInside <= behind && behind <= lastJamoInside,
		firstJamoInsideB <= behind && behind <= lastJamoInsideB:
		return true
	}
	return isRegional(behind) && regionalsBefore(text[:i])%2 == 1
}

func isRegional(r rune) bool { return firstRegional <= r && r <= lastRegional }

// regionalsBefore counts the regional indicators at the end of text, as far as they
// are looked at.
func regionalsBefore(text string) int {
	count := 0
	for count < maxCluster {
		r, n := utf8.DecodeLastRuneInString(text)
		if !isRegional(r) {
			break
		}
		text = text[:len(text)-n]
		count++
	}
	return count
}
