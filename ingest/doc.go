// Package ingest turns the files that come with a message into blocks that every
// provider takes: pictures checked, turned upright and scaled down, text decoded and
// wrapped as data, PDFs by their text. What no model can be shown is refused with the
// reason. It is the only place that judges a file; what it lets through can be stored
// and sent without a second look.
//
//	File ──sniff.go──▶ picture (header.go) ──▶ share.go ──▶ decode.go, scale.go, encode.go ──▶ message.Image
//	              └──▶ text (utf.go, pdf.go) ──▶ share.go ──▶ cut.go ──▶ message.Text and how much of it is shown
//
// Bytes decide what a file is. Its name and its declared type are claims: a wrong one is
// corrected where nothing is lost by it, and else named in the refusal.
//
// A text is kept whole and shown in part: [Part.Cut] says which bytes of its block are
// shown, so that a file of any length costs what it may. A picture is stored as it will
// be sent. Every picture is held to 2,000 pixels a side from the start, the limit for
// requests with more than 20 pictures, so that no later picture makes an earlier one too
// large. What needs no change keeps its bytes.
//
// # Bounds
//
// Nothing is decoded before its header was checked: a picture has at most 50 megapixels
// and 400 MB decoded, whatever it is compressed to. Pictures are decoded one at a time,
// so a call holds at most that, twice the pictures as they are stored, and a few times
// the size of the files; the time is in proportion to pixels and bytes, some seconds at
// the most. How many calls run at once is up to the caller.
//
// All is pure: no I/O, no clock, no randomness, the same result for the same input. It
// may be called by many at once. Decoders that panic are contained: such a file counts as
// damaged. Failures that a sender can do something about are of type [Error].
//
// Reading PDFs takes a [PDFReader], since it is neither pure nor small; package pdfium
// below this one has it. Without one PDFs are refused.
package ingest
