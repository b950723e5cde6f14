package compaction

import "unicode"

// language guesses from the script in which language users write; empty for Latin
// script, which tells nothing. It looks at letters only, and at the words of users only.
func (c *Conversation) language(before int) string {
	const maxRunes = 4_000
	var han, kana, hangul, other, all int
	script := ""
	for k := len(c.users) - 1; k >= 0 && all < maxRunes; k-- {
		if c.users[k] >= before {
			continue
		}
		for _, r := range c.items[c.users[k]].Message.PlainText() {
			if !unicode.IsLetter(r) {
				continue
			}
			if all++; all >= maxRunes {
				break
			}
			switch {
			case r < 0x250:
			case unicode.Is(unicode.Han, r):
				han++
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				kana++
			case unicode.Is(unicode.Hangul, r):
				hangul++
			default:
				if name := scriptName(r); name != "" {
					script = name
					other++
				}
			}
		}
	}
	// A letter of these scripts says as much as several of Latin, which code and names
	// are full of.
	const weight = 4
	switch {
	case hangul*weight > all:
		return "Korean (ko)"
	case kana > 0 && (kana+han)*weight > all:
		return "Japanese (ja)"
	case han*weight > all:
		return "Chinese (zh)"
	case other*2 > all:
		return "the language of their messages, which is in " + script + " script"
	}
	return ""
}

func scriptName(r rune) string {
	switch {
	case unicode.Is(unicode.Cyrillic, r):
		return "Cyrillic"
	case unicode.Is(unicode.Greek, r):
		return "Greek"
	case unicode.Is(unicode.Arabic, r):
		return "Arabic"
	case unicode.Is(unicode.Hebrew, r):
		return "Hebrew"
	case unicode.Is(unicode.Devanagari, r):
		return "Devanagari"
	case unicode.Is(unicode.Thai, r):
		return "Thai"
	}
	return ""
}

func languageDirective(language string) string {
	if language == "" {
		return "Write in the language the user writes in."
	}
	return "The user writes in " + language + ": write in it."
}
