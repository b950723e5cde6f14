package ingest_test

import (
	"image"
	"testing"

	"sessiond/ingest"
)

// BenchmarkFiles is what files of a usual size take, and the largest that are taken.
func BenchmarkFiles(b *testing.B) {
	for _, bb := range []struct {
		name string
		file ingest.File
	}{
		{"picture that stays", dataFile("a", "", pngOf(quads(1600, 1000)))},
		{"photo of 12 MP", dataFile("a", "", jpegOf(quads(4032, 3024), 85))},
		{"png of 50 MP", dataFile("a", "", pngOf(image.NewGray(image.Rect(0, 0, 8660, 5773))))},
		{"gif that claims 50 MP", dataFile("a", "", claimGIF())},
		{"noise", dataFile("a", "", pngOf(noise(1800, 1800)))},
		{"log of 1 MB, cut", textFile("a", "", prose(14_000))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			o := options(upTo(4000))
			for b.Loop() {
				if _, err := ingest.Files(nil, []ingest.File{bb.file}, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// claimGIF is a GIF of some bytes on a canvas of 50 megapixels.
func claimGIF() []byte {
	data := small("gif")
	copy(data[6:], "\x6a\x1b\x6a\x1b") // 7,018 by 7,018
	return data
}
