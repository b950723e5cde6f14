//go:build !race

package pdfium

import "github.com/tetratelabs/wazero"

// testConfig is what [New] takes.
func testConfig() wazero.RuntimeConfig { return wazero.NewRuntimeConfigCompiler() }
