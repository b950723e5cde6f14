package llm_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"sessiond/llm"
)

func TestNetworkMessage(t *testing.T) {
	at := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://10.0.0.7/v1", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7)}, Err: err}}
	}
	for want, err := range map[string]error{
		"nothing listens there":      at(syscall.ECONNREFUSED),
		"it can't be reached":        at(syscall.EHOSTUNREACH),
		"its name can't be resolved": at(&net.DNSError{Err: "no such host", Name: "llm.intranet"}),
		"it broke off":               fmt.Errorf("read: %w", io.ErrUnexpectedEOF),
		"it timed out":               at(syscall.ETIMEDOUT),
		"the provider failed":        errors.New("llm.intranet is on fire"),
	} {
		got := llm.NetworkMessage(err)
		if !strings.HasSuffix(got, want) || strings.Contains(got, "10.0.0.7") || strings.Contains(got, "intranet") {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestNetworkMessageOfAnUntrustedServer(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("the server was trusted")
	}
	if got := llm.NetworkMessage(err); !strings.HasSuffix(got, "its certificate is not trusted") {
		t.Errorf("%v: %q", err, got)
	}
}
