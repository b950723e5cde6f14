package ingest

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
)

// The limits that pictures are held to when they come in, the narrowest of all providers:
// 2,000 pixels are what requests with more than 20 pictures may have, 5 MB of base64 what
// some hosts of models take.
const (
	maxSide        = 2000
	maxBase64Bytes = 5_000_000
	maxImageBytes  = maxBase64Bytes / 4 * 3
)

// encoded is a picture as it will be stored.
type encoded struct {
	data          []byte
	format        string
	width, height int
}

// encode writes a picture in at most maxImageBytes. Pictures that were without loss stay
// so if they fit; those with see-through parts stay PNG, which JPEG can't be. What does
// not fit in any way is made smaller until it does.
func encode(img *image.RGBA, lossy bool) (encoded, error) {
	opaque := img.Opaque()
	for {
		w, h := img.Rect.Dx(), img.Rect.Dy()
		if !lossy || !opaque {
			data, err := encodePNG(img)
			if err != nil || len(data) <= maxImageBytes {
				return encoded{data, pngType, w, h}, err
			}
		}
		if opaque {
			for _, quality := range []int{90, 80, 70} {
				data, err := encodeJPEG(img, quality)
				if err != nil || len(data) <= maxImageBytes {
					return encoded{data, jpegType, w, h}, err
				}
			}
		}
		img = scale(img, max(w*3/4, 1), max(h*3/4, 1))
	}
}

// encodePNG takes the fastest way: soft waves of colour, which deflate is slowest at, take
// a tenth of the time of the default and two fifths more bytes; screenshots about as many.
func encodePNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	return b.Bytes(), err
}

func encodeJPEG(img image.Image, quality int) ([]byte, error) {
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}
