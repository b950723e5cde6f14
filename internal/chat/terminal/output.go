package terminal

import (
	"bytes"
	"os"
	"sync"

	"sessiond/internal/chat"
)

// output is the terminal. It notices when the input line is drawn for the first time.
type output struct {
	*os.File
	once  sync.Once
	drawn chan struct{} // closed then
}

func newOutput(f *os.File) *output { return &output{File: f, drawn: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if bytes.Contains(p, []byte(chat.Mark)) {
		o.end()
	}
	return n, err
}

// end ends the waiting for the input line.
func (o *output) end() { o.once.Do(func() { close(o.drawn) }) }
