package tokens_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessiond/tokens"
)

// encoded returns an image of w by h pixels as others write it.
func encoded(tb testing.TB, format string, w, h int) []byte {
	tb.Helper()
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func webp(chunk string, header ...byte) []byte {
	data := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), header...)
	return append(data, make([]byte, 20)...)
}

// jpegOf puts segments between the start and the frame.
func jpegOf(w, h int, segments ...string) []byte {
	frame := []byte{0xff, 0xc2, 0, 11, 8}
	frame = binary.BigEndian.AppendUint16(frame, uint16(h))
	frame = binary.BigEndian.AppendUint16(frame, uint16(w))
	return append([]byte("\xff\xd8"+strings.Join(segments, "")), frame...)
}

func TestImageSize(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		w, h int
	}{
		{"png", encoded(t, "png", 300, 7), 300, 7},
		{"gif", encoded(t, "gif", 300, 7), 300, 7},
		{"jpeg", encoded(t, "jpeg", 300, 7), 300, 7},
		{"jpeg, progressive", jpegOf(4000, 3000), 4000, 3000},
		{"jpeg with a profile", jpegOf(4000, 3000, "\xff\xe2\xff\xff"+strings.Repeat("\xc0", 0xffff-2)), 4000, 3000},
		{"jpeg with tables first", jpegOf(40, 30, "\xff\xc4\x00\x04ab", "\xff\xdb\x00\x02"), 40, 30},
		{"jpeg filled up", jpegOf(40, 30, "\xff\xff\xff\xe0\x00\x02", "\xff\xff"), 40, 30},
		{"jpeg with a marker alone", jpegOf(40, 30, "\xff\xd0", "\xff\x01"), 40, 30},
		{"webp, lossy, scaled", webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0x2c, 0x41, 0x07, 0x80), 300, 7},
		{"webp, lossless", webp("VP8L", 0x2f, 0x2b, 0x81, 0x01, 0x10), 300, 7},
		{"webp, extended", webp("VP8X", 0x10, 0, 0, 0, 0x2b, 0x01, 0, 0x06, 0, 0x01), 300, 65543},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, h, err := tokens.ImageSize("image/png", test.data)
			if w != test.w || h != test.h || err != nil {
				t.Errorf("got %d by %d, %v, want %d by %d", w, h, err, test.w, test.h)
			}
		})
	}
}

func TestImageSizeRefuses(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		want error // nil is any
	}{
		{"nothing", nil, tokens.ErrNoImage},
		{"text", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), tokens.ErrNoImage},
		{"a bitmap", []byte("BM" + strings.Repeat("\x00", 60)), tokens.ErrNoImage},
		{"a sound", []byte("RIFF\x00\x00\x00\x00WAVEfmt \x00\x00\x00\x00" + strings.Repeat("\x00", 60)), tokens.ErrNoImage},
		{"png without a header", append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIDAT"), make([]byte, 20)...), tokens.ErrNoImage},
		{"png without a size", append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"), make([]byte, 20)...), nil},
		{"webp of another kind", webp("ALPH"), tokens.ErrNoImage},
		{"jpeg without a frame", jpegOf(1, 1, "\xff\xe0\x00\x02", "\xff\xda\x00\x02"), tokens.ErrNoImage},
		{"jpeg that ends first", jpegOf(1, 1, "\xff\xd9"), tokens.ErrNoImage},
		{"jpeg out of step", jpegOf(1, 1, "\xff\xe0\x00\x03aaa"), tokens.ErrNoImage},
		{"jpeg whose height comes later", jpegOf(100, 0), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, h, err := tokens.ImageSize("image/x", test.data)
			if w != 0 || h != 0 || err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got %d by %d, %v", w, h, err)
			}
			if !strings.Contains(err.Error(), `"image/x"`) {
				t.Errorf("the error does not say what it was declared to be: %v", err)
			}
		})
	}
}

// A header says the same whatever follows it; a shorter one says that it is short.
func TestImageSizeOfCutData(t *testing.T) {
	images := map[string][]byte{
		"png": encoded(t, "png", 300, 7), "gif": encoded(t, "gif", 300, 7), "jpeg": encoded(t, "jpeg", 300, 7),
		"webp": webp("VP8X", 0x10, 0, 0, 0, 0x2b, 0x01, 0, 0x06, 0, 0),
	}
	begin := map[string]int{"png": 8, "gif": 6, "jpeg": 3, "webp": 12}
	for name, data := range images {
		found := false
		for n := begin[name]; n <= len(data); n++ {
			w, h, err := tokens.ImageSize("", data[:n:n])
			switch {
			case err == nil && w == 300 && h == 7:
				found = true
			case found || !errors.Is(err, io.ErrUnexpectedEOF):
				t.Fatalf("%s: %d of %d bytes give %d by %d, %v", name, n, len(data), w, h, err)
			}
		}
		if !found {
			t.Errorf("%s: no size", name)
		}
	}
}

func TestImageTokens(t *testing.T) {
	tests := []struct {
		w, h                     int
		anthropic, older, openAI int
	}{
		{1, 1, 1, 1, 2},
		{28, 28, 1, 1, 2},
		{29, 28, 2, 2, 2},
		{200, 200, 64, 64, 59},
		{1092, 1092, 1521, 1521, 1470},
		{1568, 10, 56, 56, 59},
		{2000, 2000, 4784, 1568, 4763},
		{2400, 2400, 4784, 1568, 6750},
		{2576, 28, 92, 56, 98},
		{5152, 56, 92, 56, 387}, // halved, or to 1568 by 17.04
		{8000, 8000, 4784, 1568, 75_000},
		{100_000, 1, 92, 56, 3750},
		{0, 0, 4784, 1568, 4763},
		{-1, 100, 4784, 1568, 4763},
		{100, 0, 4784, 1568, 4763},
	}
	for _, test := range tests {
		for _, by := range []struct {
			name   string
			tokens func(w, h int) int
			want   int
		}{
			{"Anthropic", tokens.AnthropicImageTokens, test.anthropic},
			{"Anthropic before 4.7", tokens.AnthropicOlderImageTokens, test.older},
			{"OpenAI", tokens.OpenAIImageTokens, test.openAI},
		} {
			if got := by.tokens(test.w, test.h); got != by.want {
				t.Errorf("%s: %d by %d costs %d, want %d", by.name, test.w, test.h, got, by.want)
			}
		}
	}
}

func TestImageTokensDoNotDependOnOrientation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(-1, 100_000)
		w, h := side.Draw(t, "w"), side.Draw(t, "h")
		for _, cost := range []func(w, h int) int{tokens.AnthropicImageTokens, tokens.AnthropicOlderImageTokens, tokens.OpenAIImageTokens} {
			if cost(w, h) != cost(h, w) || cost(w, h) < 1 {
				t.Errorf("%d by %d costs %d, turned %d", w, h, cost(w, h), cost(h, w))
			}
		}
	})
}

func FuzzImageSize(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif"} {
		f.Add(encoded(f, format, 3, 2))
	}
	f.Add(webp("VP8X", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, h, err := tokens.ImageSize("", data)
		if (err == nil) != (w > 0 && h > 0) {
			t.Fatalf("%d by %d, %v", w, h, err)
		}
		config, _, other := image.DecodeConfig(bytes.NewReader(data))
		if err == nil && other == nil && (config.Width != w || config.Height != h) {
			t.Errorf("%d by %d, another reads %d by %d", w, h, config.Width, config.Height)
		}
	})
}
