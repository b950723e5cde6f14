package ingest

import (
	"image"
	"image/draw"
)

// stripBytes is how much of a source is turned into plain colours at a time.
const stripBytes = 1 << 20

// scale returns a picture in plain colours, scaled down to w by h pixels, which must not
// be more than it has. Each pixel is the mean of the area it stands for, exactly: what
// looks best where much is left out, and needs no memory but the result. (The kernels of
// golang.org/x/image/draw keep 32 bytes for each pixel of a half-scaled picture: 450 MB
// for one of 50 megapixels.)
func scale(src image.Image, w, h int) *image.RGBA {
	b := src.Bounds()
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	if b.Dx() == w && b.Dy() == h {
		draw.Draw(dst, dst.Bounds(), src, b.Min, draw.Src)
		return dst
	}
	s := newScaler(dst, b.Dx(), b.Dy())
	rows := min(max(stripBytes/(4*b.Dx()), 1), b.Dy())
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), rows))
	for y := 0; y < b.Dy(); y += rows {
		draw.Draw(strip, strip.Bounds(), src, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		for row := range min(rows, b.Dy()-y) {
			s.add(strip.Pix[row*strip.Stride : row*strip.Stride+4*b.Dx()])
		}
	}
	return dst
}

// scaler takes a picture row by row. A source of n pixels to be m is seen as n pixels of
// width m, and the result as m pixels of width n, so that all is counted in whole
// numbers: of 255 × 50 million at the most for a sum.
type scaler struct {
	dst                 *image.RGBA
	srcWidth, srcHeight int
	row                 []uint64 // a source row, scaled across
	sums                []uint64 // of the row of the result that is being filled
	y                   int      // which row that is
	room                int      // how much of it is still to come
}

func newScaler(dst *image.RGBA, srcWidth, srcHeight int) *scaler {
	n := 4 * dst.Rect.Dx()
	return &scaler{
		dst: dst, srcWidth: srcWidth, srcHeight: srcHeight,
		row: make([]uint64, n), sums: make([]uint64, n), room: srcHeight,
	}
}

// add takes the next row of the source.
func (s *scaler) add(pix []byte) {
	s.across(pix)
	height := s.dst.Rect.Dy() // of a source row; rows of the result are srcHeight high
	for height > 0 {
		part := min(height, s.room)
		for i, v := range s.row {
			s.sums[i] += v * uint64(part) //nolint:gosec // a height is not negative
		}
		height -= part
		if s.room -= part; s.room == 0 {
			s.finish()
		}
	}
}

// across scales a row of the source to the width of the result.
func (s *scaler) across(pix []byte) {
	width := s.dst.Rect.Dx() // of a source pixel; pixels of the result are srcWidth wide
	room, out := s.srcWidth, 0
	var r, g, b, a uint64
	for i := 0; i+3 < len(pix); i += 4 {
		p := pix[i : i+4 : i+4]
		for left := width; left > 0; {
			part := min(left, room)
			n := uint64(part) //nolint:gosec // a width is not negative
			r += n * uint64(p[0])
			g += n * uint64(p[1])
			b += n * uint64(p[2])
			a += n * uint64(p[3])
			left -= part
			if room -= part; room == 0 {
				to := s.row[out : out+4 : out+4]
				to[0], to[1], to[2], to[3] = r, g, b, a
				r, g, b, a = 0, 0, 0, 0
				out, room = out+4, s.srcWidth
			}
		}
	}
}

// finish writes the row of the result that is full.
func (s *scaler) finish() {
	area := uint64(s.srcWidth) * uint64(s.srcHeight) //nolint:gosec // sides are not negative
	to := s.dst.Pix[s.y*s.dst.Stride:]
	for i, sum := range s.sums {
		to[i] = byte((sum + area/2) / area) //nolint:gosec // a mean of bytes is a byte
		s.sums[i] = 0
	}
	s.y++
	s.room = s.srcHeight
}

// turn returns a picture as its EXIF orientation says that it is to be shown.
func turn(src *image.RGBA, orientation int) *image.RGBA {
	w, h := src.Rect.Dx(), src.Rect.Dy()
	var from func(x, y int) (int, int) // where a pixel of the result is in the source
	switch orientation {
	case 2:
		from = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		from = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		from = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		from = func(x, y int) (int, int) { return y, x }
	case 6:
		from = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		from = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	case 8:
		from = func(x, y int) (int, int) { return w - 1 - y, x }
	default:
		return src
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	if swapsSides(orientation) {
		dst = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range dst.Rect.Dy() {
		for x := range dst.Rect.Dx() {
			sx, sy := from(x, y)
			copy(dst.Pix[y*dst.Stride+4*x:][:4], src.Pix[sy*src.Stride+4*sx:][:4])
		}
	}
	return dst
}

// swapsSides reports whether turning makes the width the height.
func swapsSides(orientation int) bool { return orientation >= 5 }
