package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEventBytes bounds one event; a server that sends a whole answer as one chunk
// stays far below.
const maxEventBytes = 16 << 20

var errEventTooLarge = fmt.Errorf("an event is larger than %d bytes", maxEventBytes)

// event is one server-sent event. A body that is JSON instead of a stream of events is
// one event without a name.
type event struct {
	name string
	data []byte // valid until the next call
}

// eventReader reads server-sent events as they are specified, and a little more: an
// event that the end of the body cuts off is still an event, so that the last words of
// a server which forgot the blank line are not lost.
type eventReader struct {
	r       *bufio.Reader
	started bool
	data    []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// next returns the next event that has data; io.EOF after the last one.
func (e *eventReader) next() (event, error) {
	if !e.started {
		e.started = true
		if isJSON, err := e.startsJSON(); err != nil {
			return event{}, err
		} else if isJSON {
			return e.whole()
		}
	}
	var name string
	e.data = e.data[:0]
	hasData := false
	for {
		line, err := e.line()
		if err != nil {
			if hasData && errors.Is(err, io.EOF) {
				return event{name: name, data: e.data}, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if hasData {
				return event{name: name, data: e.data}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if hasData {
				e.data = append(e.data, '\n')
			}
			hasData = true
			if len(e.data)+len(value) > maxEventBytes {
				return event{}, errEventTooLarge
			}
			e.data = append(e.data, value...)
		}
	}
}

// startsJSON looks past white space at how the body begins.
func (e *eventReader) startsJSON() (bool, error) {
	for {
		b, err := e.r.ReadByte()
		if err != nil {
			return false, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b == '{' || b == '[', e.r.UnreadByte()
		}
	}
}

func (e *eventReader) whole() (event, error) {
	data, err := io.ReadAll(io.LimitReader(e.r, maxEventBytes+1))
	if err != nil {
		return event{}, err
	}
	if len(data) > maxEventBytes {
		return event{}, errEventTooLarge
	}
	return event{data: data}, nil
}

// line returns the next line without its end; it is valid until the next call.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxEventBytes {
				return nil, errEventTooLarge
			}
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
