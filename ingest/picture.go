package ingest

import (
	"encoding/base64"
	"fmt"
	"math"

	"sessiond/message"
	"sessiond/tokens"
)

// leastSide is how small a long side is made to save tokens: less shows nothing.
const leastSide = 256

// picture is a picture whose header has been read, and its pixels not yet.
type picture struct {
	place
	header
	format   string // what it is
	declared string // what it was called
	base64   string // as it came
	raw      []byte
	still    string // why only the first frame is taken, if there are more
}

func readPicture(at place, format, declared, data string, raw []byte) (item, error) {
	h, reason := readHeader(format, raw)
	if reason != "" {
		return nil, at.unsupported(reason)
	}
	return &picture{place: at, header: h, format: format, declared: declared, base64: data, raw: raw}, nil
}

func (p *picture) at() place { return p.place }

// size is the picture's when it is upright.
func (p *picture) size() (w, h int) {
	if swapsSides(p.orientation) {
		return p.height, p.width
	}
	return p.width, p.height
}

func (p *picture) cost(o Options) (wanted, least int) {
	w, h := p.size()
	return o.ImageTokens(within(w, h, maxSide)), o.ImageTokens(within(w, h, leastSide))
}

// within returns the size of a picture of w by h pixels whose long side is at most side.
func within(w, h, side int) (newW, newH int) {
	long := max(w, h)
	if long <= side {
		return w, h
	}
	shorter := func(n int) int { return max(int(math.Round(float64(n)*float64(side)/float64(long))), 1) }
	return shorter(w), shorter(h)
}

// fit returns the largest size of a picture that costs at most limit tokens.
func (p *picture) fit(o Options, limit int) (w, h int) {
	w, h = p.size()
	low, high := leastSide, min(max(w, h), maxSide) // the least fits: it was asked for
	if o.ImageTokens(within(w, h, high)) <= limit {
		return within(w, h, high)
	}
	for low+1 < high {
		if mid := (low + high) / 2; o.ImageTokens(within(w, h, mid)) <= limit {
			low = mid
		} else {
			high = mid
		}
	}
	return within(w, h, low)
}

// build decodes the picture, to know that it can be, and encodes it anew if it has to
// change.
func (p *picture) build(o Options, limit int) (message.Block, Part, error) {
	img, err := decode(p.format, p.raw, p.header)
	if err != nil {
		return nil, Part{}, p.unsupported(damage(err))
	}
	w, h := p.fit(o, limit)
	if p.keeps(o, w, h) {
		part := Part{Width: w, Height: h, Tokens: o.ImageTokens(w, h)}
		if p.misdeclared() {
			part.Changes = []string{fmt.Sprintf("taken as %s, not %s", p.format, cleanType(p.declared))}
		}
		return message.Image{MimeType: p.format, Data: p.base64}, part, nil
	}
	if swapsSides(p.orientation) {
		w, h = h, w // it is scaled as it lies, and turned when it is small
	}
	out, err := encode(turn(scale(img, w, h), p.orientation), p.lossy)
	if err != nil {
		return nil, Part{}, p.unsupported("can't be written anew: " + err.Error())
	}
	part := Part{Width: out.width, Height: out.height, Tokens: o.ImageTokens(out.width, out.height), Changes: p.changes(out)}
	return message.Image{MimeType: out.format, Data: base64.StdEncoding.EncodeToString(out.data)}, part, nil
}

// keeps reports whether the picture's bytes are stored as they came.
func (p *picture) keeps(o Options, w, h int) bool {
	if ownW, ownH := p.size(); w != ownW || h != ownH {
		return false
	}
	// Whoever reads the size out of the stored bytes must find the one that was counted.
	readW, readH, err := tokens.ImageSize(p.format, p.raw)
	return p.orientation == upright && len(p.base64) <= maxBase64Bytes && !p.endless &&
		err == nil && readW == w && readH == h && p.animates(o)
}

// animates reports whether the picture's frames, if it has several, can be sent as they
// are. It may take a moment.
func (p *picture) animates(o Options) bool {
	if p.frames == 1 {
		return true
	}
	if !o.Animated {
		return false
	}
	var ok bool
	p.still, ok = checkFrames(p.format, p.raw)
	return ok
}

// misdeclared reports whether the picture was called something that it isn't.
func (p *picture) misdeclared() bool {
	switch cleanType(p.declared) {
	case p.format, plainType: // or not declared
		return false
	case "image/jpg", "image/pjpeg":
		return p.format != jpegType
	case "image/x-png", "image/apng":
		return p.format != pngType
	}
	return true
}

// changes says what was done to a picture that was encoded anew.
func (p *picture) changes(out encoded) []string {
	var list []string
	if p.frames > 1 {
		still := p.still
		if p.endless {
			still = damagedParts
		}
		list = append(list, fmt.Sprintf("the first of %d frames%s", p.frames, still))
	} else if p.endless {
		list = append(list, "its end is missing")
	}
	if p.orientation != upright {
		list = append(list, "turned upright")
	}
	if w, h := p.size(); w != out.width || h != out.height {
		list = append(list, fmt.Sprintf("scaled from %d by %d to %d by %d pixels", w, h, out.width, out.height))
	}
	if len(p.base64) > maxBase64Bytes {
		list = append(list, fmt.Sprintf("made smaller than %d MB of base64", maxBase64Bytes/1_000_000))
	}
	return append(list, "encoded anew as "+out.format)
}
