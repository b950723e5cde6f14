package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"strings"
)

// The formats of pictures that every provider takes, by their types.
const (
	pngType  = "image/png"
	jpegType = "image/jpeg"
	gifType  = "image/gif"
	webpType = "image/webp"
)

// sniffPicture tells by its first bytes which of the four a picture is, or returns "".
func sniffPicture(data []byte) string {
	switch {
	case begins(data, "\x89PNG\r\n\x1a\n"):
		return pngType
	case begins(data, "\xff\xd8\xff"):
		return jpegType
	case begins(data, "GIF87a"), begins(data, "GIF89a"):
		return gifType
	case begins(data, "RIFF") && holds(data, 8, "WEBP"):
		return webpType
	}
	return ""
}

// isPictureType reports whether a declared type promises one of the four formats.
func isPictureType(declared string) bool {
	switch cleanType(declared) {
	case pngType, jpegType, gifType, webpType, "image/jpg", "image/pjpeg", "image/x-png", "image/apng":
		return true
	}
	return false
}

// notPicture says what stands where a picture should.
func notPicture(declared string, data []byte) string {
	const want = "; png, jpeg, gif and webp are taken"
	if kind := sniffForeign(data); kind != "" {
		return "is " + kind + want
	}
	kind := "not a picture"
	if isPDF(data) {
		kind = "a PDF"
	} else if _, _, reason := decodeText(data, ""); reason == "" && len(data) > 0 {
		kind = "text"
	}
	return fmt.Sprintf("is declared as %s, but is %s%s", cleanType(declared), kind, want)
}

// sniffForeign names what a file is that can't be taken but is known; people should be
// told what to do about it. It returns "" for what isn't known.
func sniffForeign(data []byte) string {
	if holds(data, 4, "ftyp") {
		return sniffFtyp(data)
	}
	for _, f := range []struct {
		at          int
		magic, kind string
	}{
		{0, "BM", "a BMP image"},
		{0, "II*\x00", "a TIFF image"},
		{0, "MM\x00*", "a TIFF image"},
		{0, "\x00\x00\x01\x00", "an icon"},
		{0, "8BPS", "a Photoshop image"},
		{0, "\xff\x0a", "a JPEG XL image"},
		{0, "\x00\x00\x00\x0cJXL ", "a JPEG XL image"},
		{0, "\x00\x00\x00\x0cjP  ", "a JPEG 2000 image"},
		{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"},
		{0, "\x1f\x8b", "a gzip archive"},
		{0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
		{0, "Rar!\x1a\x07", "a RAR archive"},
		{0, "\xfd7zXZ\x00", "an xz archive"},
		{0, "BZh", "a bzip2 archive"},
		{0, "\x28\xb5\x2f\xfd", "a Zstandard archive"},
		{257, "ustar", "a tar archive"},
		{0, "\x7fELF", "a program"},
		{0, "MZ", "a program"},
		{0, "\xcf\xfa\xed\xfe", "a program"},
		{0, "\x00asm", "a WebAssembly module"},
		{0, "SQLite format 3\x00", "an SQLite database"},
		{0, "ID3", "a sound"},
		{0, "\xff\xfb", "a sound"},
		{0, "OggS", "a sound or film"},
		{0, "fLaC", "a sound"},
		{8, "WAVE", "a sound"},
		{8, "AVI ", "a film"},
		{0, "\x1a\x45\xdf\xa3", "a film"},
	} {
		if holds(data, f.at, f.magic) && !isPrintable(data, f.magic) {
			return f.kind
		}
	}
	if begins(data, "PK\x03\x04") {
		return sniffZip(data)
	}
	return ""
}

// isPrintable reports whether a file that begins like a binary one is a text after all,
// such as a diary that begins with "BM": a short magic of letters proves nothing.
func isPrintable(data []byte, magic string) bool {
	if strings.ContainsFunc(magic, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	return bytes.IndexByte(data, 0) < 0 && countControls(data) == 0
}

// sniffFtyp names a file of the family of MP4, by its brand.
func sniffFtyp(data []byte) string {
	if len(data) < 12 {
		return ""
	}
	switch string(data[8:12]) {
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1":
		return "a HEIC image (turn it into JPEG or PNG, or send a screenshot of it)"
	case "avif", "avis":
		return "an AVIF image (turn it into JPEG or PNG)"
	case "M4A ", "M4B ":
		return "a sound"
	}
	return "a film"
}

// sniffZip names what is often packed as an archive, by the names of its members.
func sniffZip(data []byte) string {
	head := data[:min(len(data), 4096)]
	switch {
	case bytes.Contains(head, []byte("word/")):
		return "a Word document (save it as PDF or text)"
	case bytes.Contains(head, []byte("xl/")):
		return "an Excel workbook (save it as CSV)"
	case bytes.Contains(head, []byte("ppt/")):
		return "a PowerPoint presentation (save it as PDF)"
	case bytes.Contains(head, []byte("[Content_Types].xml")):
		return "an Office document (save it as PDF or text)"
	case bytes.Contains(head, []byte("mimetypeapplication/vnd.oasis")):
		return "an OpenDocument file (save it as PDF or text)"
	case bytes.Contains(head, []byte("mimetypeapplication/epub")):
		return "an EPUB book (save it as PDF or text)"
	}
	return "a ZIP archive (send what is in it)"
}

// isPDF reports whether data is a PDF; readers forgive white space before its header.
func isPDF(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data[:min(len(data), 1024)], "\x00\t\r\n\f "), []byte("%PDF-"))
}

func begins(data []byte, with string) bool { return holds(data, 0, with) }

func holds(data []byte, at int, what string) bool {
	return len(data) >= at+len(what) && string(data[at:at+len(what)]) == what
}

// plainType is what a text is called whose type isn't declared.
const plainType = "text/plain"

// cleanType returns a declared type without its parameters, or text/plain if it isn't
// one. Types that say nothing about a text count as not declared.
func cleanType(declared string) string {
	const maxTypeBytes = 127 // a type's longest name is half of that
	kind, _, err := mime.ParseMediaType(declared)
	if kind == "" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || len(kind) > maxTypeBytes {
		return plainType
	}
	if kind == "application/octet-stream" || kind == "binary/octet-stream" {
		return plainType
	}
	return kind
}

// charsetOf returns the declared encoding, or "".
func charsetOf(declared string) string {
	_, params, _ := mime.ParseMediaType(declared)
	return params["charset"]
}
