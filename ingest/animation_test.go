package ingest_test

import (
	"bytes"
	"fmt"
	"image"
	"slices"
	"testing"

	"sessiond/ingest"
	"sessiond/message"
)

func animated(o *ingest.Options) { o.Animated = true }

// TestTruncatedAnimations: wherever one is cut off it is refused, or its first frame is
// taken as a whole picture; what isn't whole is never kept.
func TestTruncatedAnimations(t *testing.T) {
	for name, data := range map[string][]byte{
		"gif":  gifOf(paletted(quads(48, 32)), paletted(noise(48, 32)), paletted(quads(48, 32))),
		"webp": fixture("animated.webp"),
	} {
		t.Run(name, func(t *testing.T) {
			taken := 0
			for n := 12; n < len(data); n++ {
				f := dataFile("a", "image/"+name, data[:n])
				r, err := ingest.Files(nil, []ingest.File{f}, options(animated))
				if err != nil {
					continue // TestPictureTable has what it says
				}
				taken++
				img, _ := r.Blocks[0].(message.Image)
				if img.Data == *f.Data || img.MimeType != "image/png" && img.MimeType != "image/jpeg" {
					t.Fatalf("%d of %d bytes are kept as %s", n, len(data), img.MimeType)
				}
				pictureOf(t, img, r.Parts[0], options())
				if p := r.Parts[0]; !contains(p.Changes, "cut off or damaged") && !contains(p.Changes, "its end is missing") {
					t.Fatalf("%d of %d bytes: %+v", n, len(data), p)
				}
			}
			if taken == 0 || taken > len(data)*5/6 {
				t.Errorf("%d of %d are taken", taken, len(data))
			}
		})
	}
}

// TestAnimationsThatCannotStay: the first frame is taken, and it is said why.
func TestAnimationsThatCannotStay(t *testing.T) {
	frames := func(n int, img *image.Paletted) []byte {
		return gifOf(slices.Repeat([]*image.Paletted{img}, n)...)
	}
	second := gifOf(paletted(quads(48, 32)), paletted(quads(48, 32)))
	descriptor := bytes.LastIndexByte(second[:len(second)-1], 0x2c)
	spoilt := bytes.Clone(second)
	for i := descriptor + 12; i < len(spoilt)-2; i++ {
		spoilt[i] |= 0x80 // codes of nothing
	}
	outside := bytes.Clone(second)
	outside[descriptor+1] = 40 // to the right
	webp := fixture("animated.webp")
	broken := bytes.Clone(webp)
	last := bytes.LastIndex(broken, []byte("ANMF"))
	copy(broken[last+8+16:], "JUNK") // its last frame has no pixels
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"gif with a spoilt frame", "as others are cut off or damaged", spoilt},
		{"gif with a frame outside", "as others are cut off or damaged", outside},
		{"webp with an empty frame", "as others are cut off or damaged", broken},
		{"too many frames", "the first of 1001 frames, which are too many to check", frames(1001, paletted(quads(2, 2)))},
		{"too many pixels", "the first of 26 frames, which are too many to check", frames(26, paletted(image.NewRGBA(image.Rect(0, 0, 2000, 2000))))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := dataFile("a", "", tt.data)
			b, p := take(t, f, animated)
			pictureOf(t, b, p, options())
			if b.(message.Image).Data == *f.Data || !contains(p.Changes, tt.want) {
				t.Errorf("%+v", p)
			}
		})
	}
	t.Run("as many as may be", func(t *testing.T) {
		f := dataFile("a", "", frames(1000, paletted(quads(2, 2))))
		if b, p := take(t, f, animated); b.(message.Image).Data != *f.Data {
			t.Errorf("it changed: %+v", p)
		}
	})
}

// TestAStillGIFWithoutItsEnd is written anew: not everybody reads it.
func TestAStillGIFWithoutItsEnd(t *testing.T) {
	data := gifOf(paletted(quads(48, 32)))
	b, p := take(t, dataFile("a", "", data[:len(data)-1]))
	showsQuads(t, pictureOf(t, b, p, options()))
	if want := fmt.Sprint([]string{"its end is missing", "encoded anew as image/png"}); fmt.Sprint(p.Changes) != want {
		t.Errorf("%v, want %s", p.Changes, want)
	}
}
