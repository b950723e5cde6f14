package tokens

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNoImage is what [ImageSize] fails with if data isn't what an image begins with.
var ErrNoImage = errors.New("not a PNG, JPEG, GIF or WebP image")

var errNoSize = errors.New("an image without a size")

// ImageSize returns the width and height in pixels that the header of an image tells:
// PNG, JPEG, GIF or WebP. Data may be cut: 30 bytes do, except for JPEG, where profiles
// and previews of some 10 KB may come first. If the size isn't among the data, the
// error is [io.ErrUnexpectedEOF].
//
// The data says what kind of image it is. What it was declared to be, in mime, is often
// wrong, and only named in errors.
func ImageSize(mime string, data []byte) (w, h int, err error) {
	w, h, err = imageSize(data)
	if err == nil && (w == 0 || h == 0) {
		err = errNoSize
	}
	if err != nil {
		return 0, 0, fmt.Errorf("size of %q: %w", mime, err)
	}
	return w, h, nil
}

func imageSize(data []byte) (w, h int, err error) {
	switch {
	case begins(data, "\x89PNG\r\n\x1a\n"):
		return pngSize(data)
	case begins(data, "\xff\xd8\xff"):
		return jpegSize(data)
	case begins(data, "GIF87a"), begins(data, "GIF89a"):
		return gifSize(data)
	case begins(data, "RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return webpSize(data)
	}
	return 0, 0, ErrNoImage
}

func begins(data []byte, with string) bool {
	return len(data) >= len(with) && string(data[:len(with)]) == with
}

func pngSize(data []byte) (w, h int, err error) {
	const first = 12 // where the first chunk is named
	if len(data) < first+12 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	if !begins(data[first:], "IHDR") {
		return 0, 0, ErrNoImage
	}
	size := data[first+4:]
	return int(binary.BigEndian.Uint32(size)), int(binary.BigEndian.Uint32(size[4:])), nil
}

func gifSize(data []byte) (w, h int, err error) {
	const size = 6
	if len(data) < size+4 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	return int(binary.LittleEndian.Uint16(data[size:])), int(binary.LittleEndian.Uint16(data[size+2:])), nil
}

// webpSize reads the first chunk, which is one of three.
func webpSize(data []byte) (w, h int, err error) {
	const chunk, header, bits14 = 12, 30, 1<<14 - 1
	if len(data) < header {
		return 0, 0, io.ErrUnexpectedEOF
	}
	switch string(data[chunk : chunk+4]) {
	case "VP8 ":
		w, h = int(binary.LittleEndian.Uint16(data[26:])), int(binary.LittleEndian.Uint16(data[28:]))
		return w & bits14, h & bits14, nil // without the scale
	case "VP8L":
		bits := int(binary.LittleEndian.Uint32(data[21:]))
		return bits&bits14 + 1, bits>>14&bits14 + 1, nil
	case "VP8X":
		return uint24(data[24:]) + 1, uint24(data[27:]) + 1, nil
	}
	return 0, 0, ErrNoImage
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// jpegSize goes from segment to segment, to the one that begins a frame.
func jpegSize(data []byte) (w, h int, err error) {
	const size = 5 // in a frame's segment
	for at := 2; at+1 < len(data); {
		if data[at] != 0xff {
			return 0, 0, ErrNoImage
		}
		marker := data[at+1]
		segment := data[at+2:]
		switch {
		case marker == 0xff: // a byte to fill up
			at++
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8: // nothing follows
			at += 2
		case marker == 0xd9 || marker == 0xda:
			return 0, 0, ErrNoImage // the end, or a picture without a frame
		case len(segment) < 2:
			return 0, 0, io.ErrUnexpectedEOF
		case !isFrame(marker):
			at += 2 + int(binary.BigEndian.Uint16(segment))
		case len(segment) < size+2:
			return 0, 0, io.ErrUnexpectedEOF
		default:
			return int(binary.BigEndian.Uint16(segment[size:])), int(binary.BigEndian.Uint16(segment[size-2:])), nil
		}
	}
	return 0, 0, io.ErrUnexpectedEOF
}

// isFrame reports whether a marker begins a frame; three among these do other things.
func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}
