package main

import (
	"bytes"
	"fmt"
)

// writeMethods writes the list of methods that write, as a module.
func writeMethods(doc *document) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the server's method registry (go generate ./web); DO NOT EDIT.\n\n")
	b.WriteString("/** The methods that change something, and so take an idempotency key. */\nexport const WRITES = new Set([\n")
	for _, m := range doc.Methods {
		if m.Writes {
			fmt.Fprintf(&b, "  '%s',\n", m.Name)
		}
	}
	b.WriteString("]);\n")
	return b.Bytes()
}
