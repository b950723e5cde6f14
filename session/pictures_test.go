package session_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"sessiond/ingest"
	"sessiond/llm/anthropic"
	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
	"sessiond/session"
	"sessiond/store"
	"sessiond/tokens"
)

const fakeModel = "claude-opus-5"

// strict carries requests to the strict fake of a provider without a network, and notes
// what became of them. Each has a fake of its own: they keep what they were sent.
type strict struct {
	mu       sync.Mutex
	requests int
	largest  int64
	refused  []string
}

func (s *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	fake := anthropicfake.New(anthropicfake.Options{})
	answer := httptest.NewRecorder()
	fake.ServeHTTP(answer, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost {
		s.requests++
		s.largest = max(s.largest, r.ContentLength)
		if answer.Code != http.StatusOK {
			s.refused = append(s.refused, fmt.Sprintf("%d %.300s", answer.Code, answer.Body))
		}
	}
	return answer.Result(), nil
}

// withStrict runs f in a bubble with a world whose model is the strict fake.
func withStrict(t *testing.T, limit int, f func(w *world, s *strict)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &strict{}
		client, err := anthropic.New(anthropic.Options{
			APIKey: "key", BaseURL: "http://provider.test", HTTPClient: &http.Client{Transport: s},
		})
		if err != nil {
			t.Fatal(err)
		}
		o := clerkOptions(limit)
		o.Models, o.Provider = []string{fakeModel}, "anthropic"
		w := newWorld(t, o)
		w.m.Close()
		w.other = client
		w.begin()
		f(w, s)
	})
}

// plain is a picture of one colour in a format.
func plain(format string, w, h int) []byte {
	var b bytes.Buffer
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.RGBA{200, 60, 30, 255}, color.White})
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	default:
		err = gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{img, img, img}, Delay: make([]int, 3)})
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

func webpFixture(name string) []byte {
	raw, err := os.ReadFile(filepath.Join("..", "ingest", "testdata", name))
	if err != nil {
		panic(err)
	}
	return raw
}

// padded makes a picture about size bytes long with what viewers pass over.
func padded(format string, raw []byte, size int) []byte {
	fill := make([]byte, size)
	insert := func(at int, what []byte) []byte { return bytes.Join([][]byte{raw[:at], what, raw[at:]}, nil) }
	switch format {
	case "png":
		chunk := append([]byte("juNk"), fill...)
		whole := append(binary.BigEndian.AppendUint32(nil, uint32(size)), chunk...)
		return insert(33, binary.BigEndian.AppendUint32(whole, crc32.ChecksumIEEE(chunk)))
	case "jpeg":
		const most = 65_000
		segment := append([]byte{0xff, 0xfe, (most + 2) >> 8, (most + 2) & 0xff}, fill[:most]...)
		return insert(2, bytes.Repeat(segment, size/most))
	case "webp":
		out := append(bytes.Clone(raw), "JUNK"...)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(size)), fill...)
		binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
		return out
	default:
		comment := append(bytes.Repeat(append([]byte{255}, fill[:255]...), size/256), 0)
		return insert(len(raw)-1, append([]byte{0x21, 0xfe}, comment...))
	}
}

// TestPicturesInASession: a picture of each format, in each state that one may come in,
// either costs what the provider counts for it or is refused in words; the provider refuses
// nothing, and the session goes on.
func TestPicturesInASession(t *testing.T) {
	const big = 7_000_000
	type states struct{ pixel, normal, wide []byte }
	formats := map[string]states{
		"webp":          {webpFixture("pixel.webp"), webpFixture("lossless.webp"), webpFixture("wide.webp")},
		"animated webp": {nil, webpFixture("animated.webp"), nil},
	}
	for _, f := range []string{"png", "jpeg", "gif", "animated gif"} {
		formats[f] = states{plain(f, 1, 1), plain(f, 48, 32), plain(f, 8001, 40)}
	}
	for format, is := range formats {
		kind := map[string]string{"animated gif": "gif", "animated webp": "webp"}[format]
		if kind == "" {
			kind = format
		}
		normal := tokens.AnthropicImageTokens(48, 32)
		for _, tt := range []struct {
			name, file, mime string
			data             []byte
			tokens           int // 0: it is refused
		}{
			{"1 px", "a." + kind, "image/" + kind, is.pixel, 1},
			{"normal", "a." + kind, "image/" + kind, is.normal, normal},
			{"8,001 px", "a." + kind, "image/" + kind, is.wide, tokens.AnthropicImageTokens(2000, 10)},
			{"7 MB", "a." + kind, "image/" + kind, padded(kind, is.normal, big), normal},
			{"truncated", "a." + kind, "image/" + kind, is.normal[:len(is.normal)/4], 0},
			{"without its last bytes", "a." + kind, "image/" + kind, is.normal[:len(is.normal)-2], -1},
			{"wrong extension", "a.txt", "text/plain", is.normal, normal},
		} {
			if tt.data == nil {
				continue
			}
			t.Run(format+"/"+tt.name, func(t *testing.T) {
				withStrict(t, 25_000, func(w *world, s *strict) {
					t := w.t
					ref := w.create(func(s *session.Settings) { s.Model = fakeModel })
					data := base64.StdEncoding.EncodeToString(tt.data)
					r, err := w.m.SendFiles(t.Context(), ref, text("look"), []ingest.File{{Name: tt.file, MimeType: tt.mime, Data: &data}},
						session.WhenBusyQueue, session.Idempotency{})
					synctest.Wait()
					switch {
					case err != nil && tt.tokens <= 0:
						wantKind(t, "the picture", err, session.KindUnsupportedMedia)
					case err != nil:
						t.Fatal(err)
					default:
						want := tt.tokens
						if want < 0 { // what is missing may be missed by nobody, or only by some frames
							want = normal
						}
						if got := r.Value.Files[0].Tokens; got != want {
							t.Errorf("%d tokens, want %d", got, want)
						}
						if turn := w.turn(ref, r.Value.TurnID); turn.Status != store.TurnCompleted {
							t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
						}
					}
					w.completed(ref, "still there?")
					if len(s.refused) > 0 {
						t.Errorf("the provider refused %q", s.refused)
					}
				})
			})
		}
	}
}

// TestManyPicturesInASession: 25 of them, 33 MB.
func TestManyPicturesInASession(t *testing.T) {
	withStrict(t, 200_000, func(w *world, s *strict) {
		t := w.t
		ref := w.create(func(s *session.Settings) { s.Model = fakeModel })
		picture := stuffed(200, 1_000_000)
		for i, n := range []int{12, 13} {
			pictures := slices.Repeat([]message.Block{picture}, n)
			r := w.sendBlocks(ref, append(pictures, message.Text{Text: "look"})...)
			if turn := w.turn(ref, r.TurnID); turn.Status != store.TurnCompleted {
				t.Fatalf("turn %d is %s: %+v", i, turn.Status, turn.Error)
			}
		}
		w.completed(ref, "still there?")
		if len(s.refused) > 0 || s.requests != 3 {
			t.Errorf("of %d requests the provider refused %q", s.requests, s.refused)
		}
		if s.largest > 32_000_000 || s.largest < 14_000_000 {
			t.Errorf("the largest request had %d bytes", s.largest)
		}
	})
}
