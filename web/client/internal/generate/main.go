// Command generate writes what the JavaScript client knows of the protocol, from the
// method registry: the types in protocol.d.ts, and in lib/methods.js the list of methods
// that take an idempotency key. It is run by go generate in the folder web; a test fails
// while the files are not what it would write.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	v1 "sessiond/rpc/v1"
)

// files are what the command writes, by their names within the client's folder.
type files map[string][]byte

func main() {
	made, err := generate()
	if err != nil {
		log.Fatalf("generate: %v", err)
	}
	for name, content := range made {
		file := filepath.Join("client", filepath.FromSlash(name))
		if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // for everybody to read
			log.Fatalf("generate %s: %v", name, err)
		}
	}
}

// generate reads the contract as clients read it: as an OpenRPC document. Limits do not
// show in types, so the default ones serve.
func generate() (files, error) {
	registry, err := v1.NewRegistry(v1.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("make the registry: %w", err)
	}
	raw, err := registry.OpenRPC("")
	if err != nil {
		return nil, fmt.Errorf("describe the registry: %w", err)
	}
	doc, err := parseDocument(raw)
	if err != nil {
		return nil, err
	}
	return files{
		"protocol.d.ts":  writeTypes(doc),
		"lib/methods.js": writeMethods(doc),
	}, nil
}
