//go:build race

package pdfium

import "github.com/tetratelabs/wazero"

// testConfig interprets PDFium: under the race detector compiling it takes half a minute
// of a processor and a gigabyte.
func testConfig() wazero.RuntimeConfig { return wazero.NewRuntimeConfigInterpreter() }
