package ingest_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"runtime"
	"strings"
	"testing"

	"sessiond/ingest"
	"sessiond/message"
	"sessiond/tokens"
)

// small returns a small picture of each format.
func small(format string) []byte {
	switch format {
	case "png":
		return pngOf(quads(48, 32))
	case "jpeg":
		return jpegOf(quads(48, 32), 95)
	case "gif":
		return gifOf(paletted(quads(48, 32)))
	default:
		return fixture("lossless.webp")
	}
}

// TestPictureTable: each format in each state that a picture may come in.
func TestPictureTable(t *testing.T) {
	formats := []struct {
		name        string
		pixel, wide []byte
	}{
		{"png", pngOf(quads(1, 1)), pngOf(quads(8001, 40))},
		{"jpeg", jpegOf(quads(1, 1), 95), jpegOf(quads(8001, 40), 95)},
		{"gif", gifOf(paletted(quads(1, 1))), gifOf(paletted(quads(8001, 40)))},
		{"webp", fixture("pixel.webp"), fixture("wide.webp")},
	}
	for _, f := range formats {
		mime := "image/" + f.name
		normal := small(f.name)
		unchanged := func(t *testing.T, data []byte, declared string) ingest.Part {
			t.Helper()
			file := dataFile("a."+f.name, declared, data)
			b, part := take(t, file)
			pictureOf(t, b, part, options())
			if img, _ := b.(message.Image); img.MimeType != mime || img.Data != *file.Data {
				t.Errorf("its bytes changed, or its type %s", img.MimeType)
			}
			return part
		}
		t.Run(f.name+"/1 px", func(t *testing.T) {
			if p := unchanged(t, f.pixel, mime); p.Width != 1 || p.Height != 1 || p.Tokens != 1 || p.Changes != nil {
				t.Errorf("%+v", p)
			}
		})
		t.Run(f.name+"/normal", func(t *testing.T) {
			if p := unchanged(t, normal, mime); p.Changes != nil {
				t.Errorf("%+v", p)
			}
		})
		t.Run(f.name+"/8,001 px", func(t *testing.T) {
			b, p := take(t, dataFile("a", mime, f.wide))
			showsQuads(t, pictureOf(t, b, p, options()))
			if p.Width != maxSide || p.Height != 10 || !contains(p.Changes, "scaled from 8001 by 40 to 2000 by 10 pixels") {
				t.Errorf("%+v", p)
			}
		})
		t.Run(f.name+"/7 MB", func(t *testing.T) {
			b, p := take(t, dataFile("a", mime, padded(f.name, normal, 7_000_000)))
			showsQuads(t, pictureOf(t, b, p, options()))
			if p.Width != 48 || p.Height != 32 || !contains(p.Changes, "made smaller than 5 MB") {
				t.Errorf("%+v", p)
			}
		})
		for _, n := range []int{len(normal) - 1, len(normal) * 3 / 4, len(normal) / 2, 30, 14, 12} {
			t.Run(fmt.Sprintf("%s/truncated to %d", f.name, n), func(t *testing.T) {
				if f.name == "gif" && n == len(normal)-1 {
					t.Skip("what is missing is only the mark of its end, which no viewer minds")
				}
				if e := refused(t, dataFile("a", mime, normal[:n])); e.Kind != ingest.KindUnsupportedMedia || e.Path != "attachments[0]" {
					t.Errorf("%+v", e)
				}
			})
		}
		t.Run(f.name+"/wrong type", func(t *testing.T) {
			wrong := "image/png"
			if f.name == "png" {
				wrong = "image/jpeg"
			}
			if p := unchanged(t, normal, wrong); !contains(p.Changes, "taken as "+mime+", not "+wrong) {
				t.Errorf("%+v", p)
			}
			unchanged(t, normal, "text/plain; charset=utf-8")
			unchanged(t, normal, "application/octet-stream")
		})
		t.Run(f.name+"/as a block", func(t *testing.T) {
			given := message.Image{MimeType: "image/webp", Data: base64.StdEncoding.EncodeToString(normal)}
			r, err := ingest.Files([]message.Block{message.Text{Text: "look"}, given}, nil, options())
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Blocks[1]; got != message.Block(message.Image{MimeType: mime, Data: given.Data}) || r.Parts[1].File != -1 {
				t.Errorf("got %+v", r.Parts)
			}
		})
	}
}

// TestManyPictures: 25 in one message, each within the limit for so many.
func TestManyPictures(t *testing.T) {
	var files []ingest.File
	for i := range 25 {
		format := []string{"png", "jpeg", "gif", "webp"}[i%4]
		files = append(files, dataFile(fmt.Sprint(i), "image/"+format, small(format)))
	}
	files[7] = dataFile("large", "image/jpeg", jpegOf(quads(2600, 1300), 90))
	r, err := ingest.Files(nil, files, options())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, b := range r.Blocks {
		showsQuads(t, pictureOf(t, b, r.Parts[i], options()))
		total += tokens.AnthropicImageTokens(r.Parts[i].Width, r.Parts[i].Height)
	}
	if len(r.Blocks) != 25 || r.Tokens() != total {
		t.Errorf("%d blocks of %d tokens, want %d", len(r.Blocks), r.Tokens(), total)
	}
	// Within less they get an equal share: the small ones stay as they are.
	r, err = ingest.Files(nil, files, options(func(o *ingest.Options) { o.MaxTokens = 500 }))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Parts[7]; r.Tokens() > 500 || r.Tokens() < 450 || p.Width != 2*p.Height || r.Parts[8].Changes != nil {
		t.Errorf("%d tokens, %+v", r.Tokens(), p)
	}
}

// TestLargePictures: real ones, over the limits in pixels or bytes.
func TestLargePictures(t *testing.T) {
	tests := []struct {
		name, want string // want is the type it becomes
		data       []byte
		w, h       int // 0: not told
	}{
		{"a photo", "image/jpeg", jpegOf(quads(3000, 2250), 90), 2000, 1500},
		{"a screenshot", "image/png", pngOf(quads(2560, 1440)), 2000, 1125},
		{"an icon in a GIF", "image/png", gifOf(paletted(quads(2100, 420))), 2000, 400},
		{"a tall page", "image/png", pngOf(quads(40, 8001)), 10, 2000},
		{"a line", "image/png", pngOf(quads(8001, 1)), 2000, 1},
		{"noise without loss", "image/jpeg", pngOf(noise(1150, 1150)), 1150, 1150},
		{"noise with loss", "image/jpeg", jpegOf(noise(1400, 1400), 100), 1400, 1400},
		{"a WebP with loss", "image/webp", fixture("lossy.webp"), 48, 32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, p := take(t, dataFile("a", "", tt.data))
			pictureOf(t, b, p, options())
			if img, _ := b.(message.Image); img.MimeType != tt.want || tt.w != 0 && (p.Width != tt.w || p.Height != tt.h) {
				t.Errorf("%s %+v", img.MimeType, p)
			}
		})
	}
}

// TestSeeThroughStays: a picture with alpha is never put on a ground of our choice.
func TestSeeThroughStays(t *testing.T) {
	noisy := noise(1000, 1000)
	for i := 3; i < len(noisy.Pix); i += 4 {
		noisy.Pix[i] = 0
	}
	clear := image.NewNRGBA(noisy.Rect) // as its colours are kept where nothing is seen
	copy(clear.Pix, noisy.Pix)
	clear.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	for name, f := range map[string]ingest.File{
		"scaled":                   dataFile("a", "image/png", pngOf(image.NewNRGBA(image.Rect(0, 0, 3000, 10)))),
		"too many bytes":           dataFile("a", "image/png", pngOf(clear)),
		"a WebP that is turned":    dataFile("a", "image/webp", oriented(fixture("lossy-alpha.webp"), 6)),
		"a WebP of several frames": dataFile("a", "image/webp", fixture("animated-alpha.webp")),
	} {
		t.Run(name, func(t *testing.T) {
			b, p := take(t, f)
			img := pictureOf(t, b, p, options())
			if o, ok := img.(interface{ Opaque() bool }); !ok || o.Opaque() || b.(message.Image).MimeType != "image/png" {
				t.Errorf("it is a %T, %s", img, b.(message.Image).MimeType)
			}
		})
	}
}

// oriented adds EXIF with an orientation to a WebP.
func oriented(webp []byte, orientation int) []byte {
	if string(webp[12:16]) == "VP8X" {
		out := webpWith(webp, "EXIF", exif(binary.LittleEndian, orientation))
		out[20] |= 1 << 3
		return out
	}
	head := []byte{1 << 3, 0, 0, 0, 47, 0, 0, 31, 0, 0} // 48 by 32
	body := append([]byte("WEBP"), webpChunk("VP8X", head)...)
	return webpWith(webpChunk("RIFF", append(body, webp[12:]...)), "EXIF", exif(binary.LittleEndian, orientation))
}

// exif is the shortest EXIF data with an orientation, some other entry in front of it.
func exif(order binary.AppendByteOrder, orientation int) []byte {
	out := []byte("II*\x00")
	if order.String() == "BigEndian" {
		out = []byte("MM\x00*")
	}
	out = order.AppendUint32(out, 8)
	out = order.AppendUint16(out, 2)
	for _, entry := range [][2]uint16{{0x010f, 0}, {0x0112, uint16(orientation)}} {
		out = order.AppendUint16(out, entry[0])
		out = order.AppendUint16(out, 3)
		out = order.AppendUint32(out, 1)
		out = order.AppendUint16(out, entry[1])
		out = order.AppendUint16(out, 0)
	}
	return order.AppendUint32(out, 0)
}

// stored returns a picture as a camera stores it with an orientation: which side of what
// is seen its first row and its first column are (EXIF 2.32, 4.6.4).
func stored(seen *image.RGBA, orientation int) *image.RGBA {
	w, h := seen.Rect.Dx(), seen.Rect.Dy()
	sides := [9][2]string{
		1: {"top", "left"}, 2: {"top", "right"}, 3: {"bottom", "right"}, 4: {"bottom", "left"},
		5: {"left", "top"}, 6: {"right", "top"}, 7: {"right", "bottom"}, 8: {"left", "bottom"},
	}[orientation]
	rows, columns := h, w
	if orientation >= 5 {
		rows, columns = w, h
	}
	out := image.NewRGBA(image.Rect(0, 0, columns, rows))
	for r := range rows {
		for c := range columns {
			x, y := 0, 0
			for i, side := range sides {
				n := [2]int{r, c}[i]
				switch side {
				case "top":
					y = n
				case "bottom":
					y = h - 1 - n
				case "left":
					x = n
				case "right":
					x = w - 1 - n
				}
			}
			out.SetRGBA(c, r, seen.RGBAAt(x, y))
		}
	}
	return out
}

// TestOrientation: every picture is upright when it is stored, and costs what it then
// does. One that is upright already keeps its bytes, EXIF and all.
func TestOrientation(t *testing.T) {
	seen := quads(60, 28)
	withEXIF := func(picture []byte, format string, order binary.AppendByteOrder, o int) []byte {
		if format == "png" {
			return insert(picture, afterIHDR, pngChunk("eXIf", exif(order, o)))
		}
		data := append([]byte("Exif\x00\x00"), exif(order, o)...)
		return insert(picture, 2, append([]byte{0xff, 0xe1, 0, byte(len(data) + 2)}, data...))
	}
	for o := 1; o <= 8; o++ {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, format := range []string{"png", "jpeg"} {
				t.Run(fmt.Sprintf("%s/%d/%v", format, o, order), func(t *testing.T) {
					lies := stored(seen, o)
					data := pngOf(lies)
					if format == "jpeg" {
						data = jpegOf(lies, 95)
					}
					f := dataFile("a", "", withEXIF(data, format, order, o))
					b, p := take(t, f)
					if img, _ := b.(message.Image); o == 1 != (img.Data == *f.Data) || img.MimeType != "image/"+format {
						t.Errorf("kept bytes: %v, %s", img.Data == *f.Data, img.MimeType)
					}
					showsQuads(t, pictureOf(t, b, p, options()))
					if p.Width != 60 || p.Height != 28 || (o != 1) != contains(p.Changes, "turned upright") {
						t.Errorf("%+v", p)
					}
				})
			}
		}
	}
	t.Run("scaled", func(t *testing.T) {
		b, p := take(t, dataFile("a", "", withEXIF(jpegOf(stored(quads(2400, 800), 6), 90), "jpeg", binary.BigEndian, 6)))
		showsQuads(t, pictureOf(t, b, p, options()))
		if p.Width != 2000 || p.Height != 667 {
			t.Errorf("%+v", p)
		}
	})
	t.Run("webp", func(t *testing.T) {
		_, p := take(t, dataFile("a", "", oriented(fixture("lossy.webp"), 8)))
		if p.Width != 32 || p.Height != 48 || !contains(p.Changes, "turned upright") {
			t.Errorf("%+v", p)
		}
	})
	for name, data := range map[string][]byte{
		"of another kind": []byte("Exif\x00\x00II*\x00\xff\xff\xff\xff"), "of no kind": []byte("Exif\x00\x00"),
		"out of range": append([]byte("Exif\x00\x00"), exif(binary.BigEndian, 9)...),
		"cut off":      append([]byte("Exif\x00\x00"), exif(binary.BigEndian, 6)[:20]...),
	} {
		t.Run("EXIF "+name, func(t *testing.T) {
			f := dataFile("a", "", insert(jpegOf(seen, 90), 2, append([]byte{0xff, 0xe1, 0, byte(len(data) + 2)}, data...)))
			if b, _ := take(t, f); b.(message.Image).Data != *f.Data {
				t.Error("its bytes changed")
			}
		})
	}
}

// TestAnimations: where the provider takes them they stay, else the first frame does.
func TestAnimations(t *testing.T) {
	tests := []struct {
		name   string
		data   []byte
		frames int
		whole  bool // its first frame covers it
	}{
		{"gif", gifOf(paletted(quads(48, 32)), paletted(noise(48, 32))), 2, true},
		{"gif whose frames are smaller", smallFrameGIF(), 2, false},
		{"webp", fixture("animated.webp"), 3, true},
		{"webp whose frames are smaller", fixture("animated-offset.webp"), 2, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := dataFile("a", "", tt.data)
			b, p := take(t, f)
			img := pictureOf(t, b, p, options())
			if p.Width != 48 || p.Height != 32 || !contains(p.Changes, fmt.Sprintf("the first of %d frames", tt.frames)) {
				t.Errorf("%+v", p)
			}
			if tt.whole {
				showsQuads(t, img)
			} else if _, _, _, a := img.At(1, 1).RGBA(); a != 0 || !near(img.At(12, 8), quadrants[0]) {
				t.Errorf("a part stands at the wrong place: %v, %v", img.At(1, 1), img.At(12, 8))
			}
			animated := func(o *ingest.Options) { o.Animated = true }
			b, p = take(t, f, animated)
			pictureOf(t, b, p, options(animated))
			if b.(message.Image).Data != *f.Data || p.Changes != nil {
				t.Errorf("it changed though it may be animated: %+v", p)
			}
		})
	}
	t.Run("a truncated frame", func(t *testing.T) {
		data := fixture("animated.webp")
		if e := refused(t, dataFile("a", "", data[:80])); e.Kind != ingest.KindUnsupportedMedia {
			t.Error(e)
		}
	})
}

// smallFrameGIF has a red frame of 16 by 12 at (8, 4) on a canvas of 48 by 32.
func smallFrameGIF() []byte {
	frame := paletted(quads(32, 24).SubImage(image.Rect(0, 0, 16, 12)))
	frame.Rect = frame.Rect.Add(image.Pt(8, 4))
	data := gifOf(frame, paletted(quads(24, 16)))
	binary.LittleEndian.PutUint16(data[6:], 48)
	binary.LittleEndian.PutUint16(data[8:], 32)
	return data
}

// TestBombs: what claims to be huge is refused by its header, whatever it holds.
func TestBombs(t *testing.T) {
	claim := func(data []byte, put func([]byte)) []byte {
		put(data)
		return data
	}
	hugePNG := func(w, h uint32, depth, colour byte) []byte {
		ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
		ihdr = append(ihdr, depth, colour, 0, 0, 0)
		return append(append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", ihdr)...), pngChunk("IDAT", []byte("x"))...)
	}
	frame := func(data []byte) int { return strings.Index(string(data), "ANMF") + 8 }
	tests := []struct {
		name, want string
		data       []byte
	}{
		{"png of 60,000 by 60,000", "60000 by 60000", hugePNG(60_000, 60_000, 8, 6)},
		{"png of the most there is", "2147483647 by 1", hugePNG(1<<31-1, 1, 8, 2)},
		{"png of too many megapixels", "9000 by 6000", hugePNG(9000, 6000, 8, 6)},
		{"png with 16 bits, interlaced", "MB to decode", claim(hugePNG(7000, 5000, 16, 6), func(b []byte) {
			b[28] = 1
			binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
		})},
		{"jpeg", "65535 by 65535", claim(jpegOf(quads(16, 16), 90), func(b []byte) {
			at := strings.Index(string(b), "\xff\xc0")
			copy(b[at+5:], "\xff\xff\xff\xff")
		})},
		{"progressive jpeg without subsampling", "MB to decode", claim(jpegOf(quads(16, 16), 90), func(b []byte) {
			at := strings.Index(string(b), "\xff\xc0")
			b[at+1] = 0xc2
			binary.BigEndian.PutUint16(b[at+5:], 7000)
			binary.BigEndian.PutUint16(b[at+7:], 7000)
			b[at+11] = 0x11
		})},
		{"gif", "65535 by 65535", claim(small("gif"), func(b []byte) { copy(b[6:], "\xff\xff\xff\xff") })},
		{"webp", "16384 by 16384", claim(fixture("lossy-alpha.webp"), func(b []byte) { copy(b[24:], "\xff\x3f\x00\xff\x3f\x00") })},
		{"webp whose pixels are more than it says", "is damaged", claim(fixture("lossy-alpha.webp"), func(b []byte) { copy(b[24:], "\x01\x00\x00\x01\x00\x00") })},
		{"webp with a frame larger than it", "is damaged", claim(fixture("animated.webp"), func(b []byte) { copy(b[frame(b)+6:], "\xff\xff\xff\xff\xff\xff") })},
		{"webp with a frame that is more than it says", "is damaged", claim(fixture("animated.webp"), func(b []byte) { copy(b[frame(b)+6:], "\x01\x00\x00\x01\x00\x00") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := dataFile("a", "", tt.data)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if e := refused(t, f); e.Kind != ingest.KindUnsupportedMedia || !strings.Contains(e.Reason, tt.want) {
				t.Errorf("%v", e)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
				t.Errorf("%d MB were allocated", n>>20)
			}
		})
	}
}

// TestPictureCaps: a picture over the cap is scaled down until it costs no more; one that
// can't be is told by how much.
func TestPictureCaps(t *testing.T) {
	f := dataFile("a.png", "image/png", pngOf(quads(800, 400)))
	for _, formula := range []func(w, h int) int{tokens.AnthropicImageTokens, tokens.AnthropicOlderImageTokens, tokens.OpenAIImageTokens} {
		for _, most := range []int{75, 150, 250} {
			capped := func(o *ingest.Options) { o.MaxFileTokens, o.ImageTokens = most, formula }
			b, p := take(t, f, capped)
			showsQuads(t, pictureOf(t, b, p, options(capped)))
			if p.Tokens > most || p.Tokens < most*7/10 {
				t.Errorf("%d tokens of %d", p.Tokens, most)
			}
		}
	}
	e := refused(t, f, func(o *ingest.Options) { o.MaxFileTokens = 20 })
	if e.Kind != ingest.KindTooLarge || e.Tokens != tokens.AnthropicImageTokens(256, 128) || e.MaxTokens != 20 || e.File != 0 || e.Name != "a.png" {
		t.Errorf("%+v", e)
	}
}
