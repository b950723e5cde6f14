// Package pdfium reads the text of PDFs with PDFium, the reader of Chrome, compiled to
// WebAssembly: no C compiler is needed to build it, nothing is loaded at run time, and a
// hostile file meets a sandbox without files, network or clock.
//
// Readers written in Go were tried first. Those that are maintained give nothing or
// garbage for common files (fonts of Chinese, Japanese and Korean, forms, AES-256), or
// never return from files that refer to themselves, which nothing can stop; a program
// inside a WebAssembly machine can be stopped at any time.
//
// What it costs: 10 MB of the binary. The first PDF takes three seconds of one processor
// and 320 MB for a moment, to compile PDFium; 45 MB stay. From then on a document takes
// 0.1 s and 3 ms a page. A process that never reads one pays nothing.
//
// Bounds of a document: 20 s, 128 MB inside the machine, 1,000 pages, 8 MB of text. What
// was read up to there is returned. Two documents are read at once; others wait.
//
// A [Reader] may be used by many at once. It starts no goroutine that outlives a call.
package pdfium
