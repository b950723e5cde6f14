package ingest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/webp"

	"sessiond/ingest"
	"sessiond/message"
	"sessiond/tokens"
)

// The limits that providers set, as the rules have them.
const (
	maxSide   = 2000
	maxBase64 = 5_000_000
)

var counter = func() *tokens.Encoding {
	e, err := tokens.New("o200k_base")
	if err != nil {
		panic(err)
	}
	return e
}()

// The quadrants of the pictures in these tests, from the top left.
var quadrants = [4]color.RGBA{{220, 30, 30, 255}, {30, 200, 30, 255}, {30, 30, 220, 255}, {230, 220, 40, 255}}

// quads draws a picture in four colours.
func quads(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, c := range quadrants {
		half := image.Pt(w/2, h/2)
		area := image.Rectangle{Min: image.Pt(half.X*(i%2), half.Y*(i/2)), Max: img.Rect.Max}
		draw.Draw(img, area, image.NewUniform(c), image.Point{}, draw.Src) // what is too much is drawn over
	}
	return img
}

// noise draws what no format can compress.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.NewChaCha8([32]byte{})
	must(r.Read(img.Pix))
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	return img
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func pngOf(img image.Image) []byte {
	var b bytes.Buffer
	must(0, png.Encode(&b, img))
	return b.Bytes()
}

func jpegOf(img image.Image, quality int) []byte {
	var b bytes.Buffer
	must(0, jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}))
	return b.Bytes()
}

func gifOf(frames ...*image.Paletted) []byte {
	all := &gif.GIF{Image: frames, Delay: make([]int, len(frames))}
	var b bytes.Buffer
	must(0, gif.EncodeAll(&b, all))
	return b.Bytes()
}

func paletted(img image.Image) *image.Paletted {
	p := color.Palette{color.Black, color.White}
	for _, c := range quadrants {
		p = append(p, c)
	}
	out := image.NewPaletted(img.Bounds(), p)
	draw.Draw(out, out.Rect, img, out.Rect.Min, draw.Src)
	return out
}

func fixture(name string) []byte { return must(os.ReadFile(filepath.Join("testdata", name))) }

// pngChunk is a chunk with its length and checksum.
func pngChunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// insert puts something between a picture's header and its pixels.
func insert(picture []byte, at int, what []byte) []byte {
	return bytes.Join([][]byte{picture[:at], what, picture[at:]}, nil)
}

const afterIHDR = 33

// webpChunk is a chunk of a WebP.
func webpChunk(id string, data []byte) []byte {
	out := append([]byte(id), binary.LittleEndian.AppendUint32(nil, uint32(len(data)))...)
	out = append(out, data...)
	return append(out, make([]byte, len(data)%2)...)
}

// webpWith adds a chunk at the end of a WebP.
func webpWith(picture []byte, id string, data []byte) []byte {
	return webpChunk("RIFF", append(bytes.Clone(picture[8:]), webpChunk(id, data)...))
}

// padded makes a picture n bytes long with what viewers pass over.
func padded(format string, picture []byte, n int) []byte {
	fill := make([]byte, n-len(picture))
	switch format {
	case "png":
		return insert(picture, afterIHDR, pngChunk("juNk", fill))
	case "jpeg":
		for len(fill) > 0 {
			size := min(len(fill), 65_000)
			segment := append([]byte{0xff, 0xfe, byte((size + 2) >> 8), byte(size + 2)}, fill[:size]...)
			picture, fill = insert(picture, 2, segment), fill[size:]
		}
		return picture
	case "gif":
		comment := []byte{0x21, 0xfe}
		for len(fill) > 0 {
			size := min(len(fill), 255)
			comment = append(append(comment, byte(size)), fill[:size]...)
			fill = fill[size:]
		}
		return insert(picture, len(picture)-1, append(comment, 0))
	default:
		return webpWith(picture, "JUNK", fill)
	}
}

func dataFile(name, mime string, data []byte) ingest.File {
	s := base64.StdEncoding.EncodeToString(data)
	return ingest.File{Name: name, MimeType: mime, Data: &s}
}

func textFile(name, mime, text string) ingest.File {
	return ingest.File{Name: name, MimeType: mime, Text: &text}
}

func options(change ...func(*ingest.Options)) ingest.Options {
	o := ingest.Options{Counter: counter}
	for _, c := range change {
		c(&o)
	}
	return o
}

// take ingests one file that must be taken, and returns its block.
func take(t *testing.T, f ingest.File, change ...func(*ingest.Options)) (message.Block, ingest.Part) {
	t.Helper()
	r, err := ingest.Files(nil, []ingest.File{f}, options(change...))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Blocks) != 1 || len(r.Parts) != 1 || r.Parts[0].File != 0 {
		t.Fatalf("%d blocks, parts %+v", len(r.Blocks), r.Parts)
	}
	return r.Blocks[0], r.Parts[0]
}

// refused ingests one file that must not be taken, and returns why.
func refused(t *testing.T, f ingest.File, change ...func(*ingest.Options)) *ingest.Error {
	t.Helper()
	r, err := ingest.Files(nil, []ingest.File{f}, options(change...))
	e, ok := errors.AsType[*ingest.Error](err)
	if !ok {
		t.Fatalf("error is %v, parts %+v", err, r.Parts)
	}
	if len(r.Blocks) != 0 || len(r.Parts) != 0 {
		t.Errorf("there are blocks besides the error: %+v", r)
	}
	return e
}

// pictureOf decodes an image block and checks that every provider takes it, and that
// its part tells the truth about it.
func pictureOf(tb testing.TB, b message.Block, p ingest.Part, o ingest.Options) image.Image {
	tb.Helper()
	img, ok := b.(message.Image)
	if !ok {
		tb.Fatalf("the block is a %T", b)
	}
	if len(img.Data) > maxBase64 {
		tb.Errorf("%d bytes of base64", len(img.Data))
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(img.Data)
	if err != nil {
		tb.Fatal(err)
	}
	w, h, err := tokens.ImageSize(img.MimeType, raw)
	if err != nil {
		tb.Fatal(err)
	}
	if max(w, h) > maxSide || w != p.Width || h != p.Height {
		tb.Errorf("%d by %d pixels; the part says %d by %d", w, h, p.Width, p.Height)
	}
	count := tokens.AnthropicImageTokens
	if o.ImageTokens != nil {
		count = o.ImageTokens
	}
	if want := count(w, h); p.Tokens != want || p.Cut != nil {
		tb.Errorf("%+v, want %d tokens", p, want)
	}
	r := bytes.NewReader(raw)
	var got image.Image
	switch img.MimeType {
	case "image/png":
		got, err = png.Decode(r)
	case "image/jpeg":
		got, err = jpeg.Decode(r)
	case "image/gif":
		got, err = gif.Decode(r)
	case "image/webp":
		got, err = webp.Decode(r)
	default:
		err = fmt.Errorf("unknown type %q", img.MimeType)
	}
	if err != nil && !o.Animated {
		tb.Fatal(err)
	}
	return got
}

// showsQuads checks that a picture has its four colours in their places.
func showsQuads(t *testing.T, img image.Image) {
	t.Helper()
	b := img.Bounds()
	for i, want := range quadrants {
		x, y := b.Min.X+b.Dx()*(1+2*(i%2))/4, b.Min.Y+b.Dy()*(1+2*(i/2))/4
		if got := img.At(x, y); !near(got, want) {
			t.Errorf("quadrant %d is %v, want %v", i, got, want)
		}
	}
}

func near(a, b color.Color) bool {
	const most = 16 << 8
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb)} {
		if d > most || d < -most {
			return false
		}
	}
	return true
}

func contains(list []string, part string) bool {
	return strings.Contains(strings.Join(list, "; "), part)
}
