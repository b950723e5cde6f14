// Command generate writes the vocabularies that package tokens embeds. It is run by
// go generate in the folder of that package, after its loader was upgraded.
//
// A file holds the number of tokens (4 bytes, little endian), the length of each in
// order of rank (one byte each), and their bytes one after the other. That is a third
// of the base64 it comes from, and is looked up where it lies, without being decoded.
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

func main() {
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		data, err := vocabulary(name)
		if err != nil {
			log.Fatalf("generate %s: %v", name, err)
		}
		file := filepath.Join("data", name+".bin")
		if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // for everybody to read
			log.Fatalf("generate %s: %v", name, err)
		}
	}
}

// vocabulary returns what the file of an encoding holds.
func vocabulary(name string) ([]byte, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return flatten(ranks)
}

// flatten refuses what the format can't hold: gaps between ranks, and tokens that are
// empty or longer than 255 bytes.
func flatten(ranks map[string]int) ([]byte, error) {
	tokens := make([]string, len(ranks))
	for token, rank := range ranks {
		if rank < 0 || rank >= len(tokens) || tokens[rank] != "" {
			return nil, fmt.Errorf("rank %d stands alone or twice", rank)
		}
		tokens[rank] = token
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(tokens))) //nolint:gosec // some 200,000
	for rank, token := range tokens {
		n := len(token)
		if n < 1 || n > math.MaxUint8 {
			return nil, fmt.Errorf("token %d has %d bytes", rank, n)
		}
		data = append(data, byte(n))
	}
	for _, token := range tokens {
		data = append(data, token...)
	}
	return data, nil
}
