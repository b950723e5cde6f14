package ingest

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/draw"
	"pgregory.net/rapid"
)

func TestScaleIsTheMean(t *testing.T) {
	grey := func(rows ...string) *image.Gray {
		img := image.NewGray(image.Rect(0, 0, len(rows[0]), len(rows)))
		for y, row := range rows {
			for x := range row {
				img.SetGray(x, y, color.Gray{Y: (row[x] - '0') * 20})
			}
		}
		return img
	}
	tests := []struct {
		name     string
		src      *image.Gray
		w, h     int
		want     []byte
		wantNote string
	}{
		{"the same size", grey("12", "34"), 2, 2, []byte{20, 40, 60, 80}, ""},
		{"half", grey("0246", "2468"), 2, 1, []byte{40, 120}, "(0+2+2+4)/4 and (4+6+6+8)/4, times 20"},
		{"two thirds", grey("036"), 2, 1, []byte{20, 100}, "(2×0+1×3)/3 and (1×3+2×6)/3, times 20"},
		{"two thirds down", grey("0", "3", "6"), 1, 2, []byte{20, 100}, ""},
		{"to a pixel", grey("123", "456", "789"), 1, 1, []byte{100}, ""},
		{"rounded", grey("000", "001"), 1, 1, []byte{3}, "20/6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := scale(tt.src, tt.w, tt.h)
			for i, want := range tt.want {
				if p := got.Pix[4*i:]; p[0] != want || p[1] != want || p[2] != want || p[3] != 255 {
					t.Errorf("pixel %d is %v, want %d %s", i, p[:4], want, tt.wantNote)
				}
			}
		})
	}
}

// TestScaleKeepsLight: the mean of a picture stays what it was, wherever in its plane it
// lies and however many rows are taken at a time.
func TestScaleKeepsLight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
		toW, toH := rapid.IntRange(1, w).Draw(t, "to w"), rapid.IntRange(1, h).Draw(t, "to h")
		src := image.NewNRGBA(image.Rect(-3, 5, w-3, h+5))
		for i := range src.Pix {
			src.Pix[i] = rapid.Byte().Draw(t, "p")
		}
		flat := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.Draw(flat, flat.Rect, src, src.Rect.Min, draw.Src)
		got := scale(src, toW, toH)
		if got.Rect != image.Rect(0, 0, toW, toH) {
			t.Fatalf("it is %v", got.Rect)
		}
		a, b := mean(flat), mean(got)
		for c := range a {
			if math.Abs(a[c]-b[c]) > 0.51 {
				t.Fatalf("channel %d has %.2f, had %.2f", c, b[c], a[c])
			}
		}
	})
}

func mean(img *image.RGBA) (m [4]float64) {
	for i, p := range img.Pix {
		m[i%4] += float64(p)
	}
	for c := range m {
		m[c] /= float64(len(img.Pix) / 4)
	}
	return m
}

// TestScaleLooksRight: it is close to what a kernel makes that others judge by.
func TestScaleLooksRight(t *testing.T) {
	src := photo(900, 600)
	got, want := scale(src, 400, 267), image.NewRGBA(image.Rect(0, 0, 400, 267))
	draw.CatmullRom.Scale(want, want.Rect, src, src.Rect, draw.Src, nil)
	off := 0.0
	for i := range want.Pix {
		off += math.Abs(float64(want.Pix[i]) - float64(got.Pix[i]))
	}
	if off /= float64(len(want.Pix)); off > 2 {
		t.Errorf("%.2f levels off in the mean", off)
	}
}

// photo draws waves of several lengths.
func photo(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := func(a, b float64) uint8 {
				return uint8(127 + 60*math.Sin(float64(x)/a) + 60*math.Cos(float64(y)/b))
			}
			img.SetRGBA(x, y, color.RGBA{v(40, 70), v(9, 90), v(200, 13), 255})
		}
	}
	return img
}

// The benchmarks of scaling have the standard kernel beside ours.
func BenchmarkScale(b *testing.B) {
	for _, size := range []image.Point{{2500, 1600}, {4032, 3024}, {8660, 5773}} {
		src := image.NewYCbCr(image.Rect(0, 0, size.X, size.Y), image.YCbCrSubsampleRatio420)
		r := rand.NewChaCha8([32]byte{})
		if _, err := r.Read(src.Y); err != nil {
			b.Fatal(err)
		}
		w, h := within(size.X, size.Y, maxSide)
		name := fmt.Sprintf("%dMP", size.X*size.Y/1_000_000)
		b.Run(name+"/mean", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scale(src, w, h)
			}
		})
		b.Run(name+"/catmull-rom", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst := image.NewRGBA(image.Rect(0, 0, w, h))
				draw.CatmullRom.Scale(dst, dst.Rect, src, src.Rect, draw.Src, nil)
			}
		})
	}
}

func BenchmarkTurn(b *testing.B) {
	src := photo(2000, 1500)
	for b.Loop() {
		turn(src, 6)
	}
}

func BenchmarkEncode(b *testing.B) {
	src := photo(2000, 1500)
	for name, lossy := range map[string]bool{"png": false, "jpeg": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := encode(src, lossy); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
