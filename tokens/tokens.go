// Package tokens counts and cuts texts by tokens, and tells what images cost.
//
// An [Encoding] counts exactly as tiktoken does, a token for a token, with the names
// of special tokens taken for ordinary text. Three steps lead there:
//
//	text ──split.go──▶ pieces ──vocabulary.go──▶ one token, or else ──merge.go──▶ several
//
// Splitting is what a regular expression does in the original; here it is a scanner by
// hand over the classes of characters (class.go). Most pieces are in the vocabulary.
// The rest is cut where no token can be (seams.go), and merged pair by pair, in windows,
// so that counting takes time in proportion to the text, whatever it is, and the same
// few kilobytes of the stack. It allocates nothing.
//
// Cutting (cut.go) encodes about as much as it returns, however long the text is. What
// it returns has been counted as it is: a prefix or suffix on its own may have other
// tokens than where it was taken from.
//
// The vocabularies are part of the program: data/*.bin, 2.3 MB, made from
// github.com/pkoukk/tiktoken-go-loader by internal/generate, and looked up where they
// lie in the binary. What is built on first use takes 3 MB for o200k_base and 1.6 MB for
// cl100k_base, for each [New]; a process should call it once for each name.
//
// All may be called by many at once, does no I/O and does not fail, but for an encoding
// or an image that isn't known.
package tokens

import (
	_ "embed" // for the vocabularies
	"fmt"
	"math"
	"sync"
	"unicode/utf8"
)

//go:generate go run ./internal/generate

//go:embed data/o200k_base.bin
var o200kBase string

//go:embed data/cl100k_base.bin
var cl100kBase string

// Encoding is a way to see text as tokens. It is ready after [New], may be used by
// many at once, and never changes.
type Encoding struct {
	name   string
	tables func() *tables // built by the first who calls it; the others wait
}

// tables is all that encoding needs, never changed after it was built.
type tables struct {
	*classes
	*vocabulary
	pieceEnd func(c *classes, text string, i int) int
}

// New returns the encoding of that name: o200k_base or cl100k_base. It costs nothing
// yet; the first use takes some 20 ms.
func New(name string) (*Encoding, error) {
	var data string
	var pieceEnd func(*classes, string, int) int
	switch name {
	case "o200k_base":
		data, pieceEnd = o200kBase, endO200k
	case "cl100k_base":
		data, pieceEnd = cl100kBase, endCL100k
	default:
		return nil, fmt.Errorf("tokens: no encoding %q: o200k_base and cl100k_base are known", name)
	}
	build := func() *tables { return &tables{newClasses(), newVocabulary(data), pieceEnd} }
	return &Encoding{name: name, tables: sync.OnceValue(build)}, nil
}

// Name returns the name that the encoding was made by.
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of text: at most one for each byte, and at least
// one for each [MaxTokenBytes]. It takes time in proportion to the text and allocates
// nothing if text is valid UTF-8. What isn't counts as U+FFFD, byte by byte.
func (e *Encoding) Count(text string) int {
	if !utf8.ValidString(text) {
		text = replaceInvalid(text)
	}
	w := walk{tables: e.tables(), text: text}
	w.run(math.MaxInt)
	return w.tokens
}

func replaceInvalid(text string) string { return string([]rune(text)) }

// walk encodes a text, which must be valid UTF-8, from one piece to the next. It lives
// on the stack.
type walk struct {
	*tables
	text    string
	pos     int // where to go on: the start of a piece, unless a limit was met within one
	tokens  int // passed so far
	scratch merger
}

// run goes on to the end of the text, or of the token that makes limit full.
func (w *walk) run(limit int) {
	for w.pos < len(w.text) && w.tokens < limit {
		w.step(limit)
	}
}

// step goes on to the end of the piece, or of the token that makes limit full.
func (w *walk) step(limit int) {
	end := w.pieceEnd(w.classes, w.text, w.pos)
	count, length := w.encode(&w.scratch, w.text[w.pos:end], limit-w.tokens)
	w.pos += length
	w.tokens += count
}
