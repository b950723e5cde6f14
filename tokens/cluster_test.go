package tokens

import "testing"

func TestInsideCluster(t *testing.T) {
	tests := []struct {
		name, before, behind string
		want                 bool
	}{
		{"letters", "a", "b", false},
		{"an accent", "e", "\u0301", true},
		{"a second accent", "e\u0301", "\u0302", true},
		{"behind an accent", "e\u0301", "e", false},
		{"an accent of nothing", "\n", "\u0301", false},
		{"a vowel sign", "न", "ि", true},
		{"a line break", "\r", "\n", true},
		{"two line breaks", "\n", "\n", false},
		{"a line break and a return", "\n", "\r", false},
		{"a joiner", "👨", "\u200d", true},
		{"behind a joiner", "👨\u200d", "👩", true},
		{"a letter behind a joiner", "क\u200d", "a", false},
		{"a skin tone", "👍", "🏽", true},
		{"a variation selector", "❤", "\ufe0f", true},
		{"half a flag", "🇩", "🇪", true},
		{"between flags", "🇩🇪", "🇫", false},
		{"half the second flag", "x🇩🇪🇫", "🇷", true},
		{"a tag", "🏴", "\U000e0067", true},
		{"a Hangul vowel", "\u1112", "\u1161", true},
		{"a Hangul final", "\u1112\u1161", "\u11ab", true},
		{"the next Hangul syllable", "\u1112\u1161\u11ab", "\u1100", false},
		{"Hangul syllables", "한", "국", false},
		{"the start", "", "\u0301", false},
		{"the end", "e\u0301", "", false},
	}
	c := newClasses()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := c.insideCluster(test.before+test.behind, len(test.before)); got != test.want {
				t.Errorf("%+q and %+q are one: %t", test.before, test.behind, got)
			}
		})
	}
}

func TestClusterBounds(t *testing.T) {
	const text = "ab👨\u200d👩cd"
	c := newClasses()
	for i := range len(text) + 1 {
		start, end := c.clusterStart(text, i), c.clusterEnd(text, i)
		switch inside := i > 2 && i < len(text)-2; {
		case !inside && (start != i || end != i):
			t.Errorf("%d is moved to %d or %d", i, start, end)
		case inside && (start != 2 || end != len(text)-2):
			t.Errorf("the emoji around %d is from %d to %d", i, start, end)
		}
	}
}
