package llm

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// NetworkMessage says in words for the owner of a session what went wrong with a
// connection. Unlike err it does not say where the provider is: an address inside
// somebody's network is for the log.
func NetworkMessage(err error) string {
	const failed = "the connection to the provider failed"
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return failed + ": its name can't be resolved"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failed + ": its certificate is not trusted"
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{syscall.ECONNREFUSED, "nothing listens there"},
		{syscall.EHOSTUNREACH, "it can't be reached"},
		{syscall.ENETUNREACH, "it can't be reached"},
		{syscall.ECONNRESET, "it broke off"},
		{syscall.EPIPE, "it broke off"},
		{io.ErrUnexpectedEOF, "it broke off"},
		{io.EOF, "it broke off"},
		{os.ErrDeadlineExceeded, "it timed out"},
		{syscall.ETIMEDOUT, "it timed out"},
	} {
		if errors.Is(err, known.err) {
			return failed + ": " + known.text
		}
	}
	return failed
}
