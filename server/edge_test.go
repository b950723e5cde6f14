package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	v1 "sessiond/rpc/v1"
	"sessiond/server"
	"sessiond/store/memory"
)

// connect tries to connect and returns how the server answered.
func (w *world) connect(protocols []string, header ...string) handshake {
	w.t.Helper()
	ws, got := w.tryDial(protocols, header...)
	if ws != nil {
		_ = ws.Close()
	}
	return got
}

// connectStatus is connect for tests that offer the protocol and look at the status.
func (w *world) connectStatus(header ...string) int {
	w.t.Helper()
	return w.connect([]string{v1.Protocol}, header...).status
}

func TestOrigins(t *testing.T) {
	const ok, no = http.StatusSwitchingProtocols, http.StatusForbidden
	tests := []struct {
		name    string
		allowed []string
		host    string // empty: the server's address
		origins []string
		want    int
	}{
		{"none: no browser", nil, "", nil, ok},
		{"none with a list", []string{appOrigin}, "", nil, ok},
		{"own", nil, "", []string{"http://ADDR"}, ok},
		{"own behind TLS", nil, "", []string{"https://ADDR"}, ok},
		{"own by name", nil, "localhost:1234", []string{"http://localhost:1234"}, ok},
		{"own in other case", nil, "LocalHost:1234", []string{"http://localhost:1234"}, ok},
		{"own IPv6", nil, "[::1]:1234", []string{"http://[::1]:1234"}, ok},
		{"own without port", nil, "localhost", []string{"http://localhost"}, ok},
		{"other port", nil, "localhost:1234", []string{"http://localhost:1235"}, no},
		{"other name of the same machine", nil, "localhost:1234", []string{"http://127.0.0.1:1234"}, no},
		{"other", nil, "", []string{appOrigin}, no},
		{"null", nil, "", []string{"null"}, no},
		{"null, though listed", []string{"null"}, "", []string{"null"}, no},
		{"empty", nil, "", []string{""}, no},
		{"other scheme", nil, "localhost:1", []string{"chrome-extension://localhost:1"}, no},
		{"own with a path", nil, "localhost:1", []string{"http://localhost:1/"}, no},
		{"own as user", nil, "localhost:1", []string{"http://localhost:1@evil.example"}, no},
		{"two", nil, "", []string{"http://ADDR", "http://ADDR"}, no},
		{"listed", []string{"https://x.example", appOrigin}, "", []string{appOrigin}, ok},
		{"own, but not listed", []string{appOrigin}, "", []string{"http://ADDR"}, no},
		{"listed in other case", []string{appOrigin}, "", []string{"https://APP.example"}, no},
		{"listed with a port", []string{appOrigin}, "", []string{appOrigin + ":443"}, no},
		{"longer than listed", []string{appOrigin}, "", []string{appOrigin + ".evil.example"}, no},
		{"listed with other scheme", []string{appOrigin}, "", []string{"http://app.example"}, no},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{edge: server.Options{AllowedOrigins: tt.allowed}})
			var header []string
			for _, origin := range tt.origins {
				header = append(header, "Origin", strings.ReplaceAll(origin, "ADDR", w.http.Listener.Addr().String()))
			}
			if tt.host != "" {
				header = append(header, "Host", tt.host)
			}
			if got := w.connectStatus(header...); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	const ok, no = http.StatusOK, http.StatusForbidden
	tests := []struct {
		name    string
		allowed []string
		listen  string
		host    string
		want    int
	}{
		{"loopback name", nil, "", "localhost:8080", ok},
		{"loopback name without port", nil, "", "localhost", ok},
		{"loopback IPv4", nil, "", "127.0.0.1:8080", ok},
		{"all of the loopback net", nil, "", "127.8.8.8", ok},
		{"loopback IPv6", nil, "", "[::1]:8080", ok},
		{"loopback IPv6 without port", nil, "", "[::1]", ok},
		{"another name (DNS rebinding)", nil, "", "evil.example:8080", no},
		{"a name that begins like loopback", nil, "", "localhost.evil.example", no},
		{"an address that is none", nil, "", "127.0.0.1.evil.example", no},
		{"a private address", nil, "", "192.168.0.1:8080", no},
		{"the listen host", nil, "box.example", "BOX.example:8080", ok},
		{"not the listen host", nil, "box.example", "other.example", no},
		{"listed", []string{"a.example", "b.example"}, "", "B.example:443", ok},
		{"listed with port", []string{"a.example:8443"}, "", "a.example:8443", ok},
		{"listed with another port", []string{"a.example:8443"}, "", "a.example:1", no},
		{"loopback, but not listed", []string{"a.example"}, "", "localhost", no},
		{"subdomain of a listed one", []string{"a.example"}, "", "x.a.example", no},
		{"any", []string{"*"}, "", "evil.example", ok},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, setup{edge: server.Options{
				AllowedHosts: append(tt.allowed, worldHost(tt.allowed)...), ListenHost: tt.listen,
				Console: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			}})
			for _, path := range []string{"/", "/assets/x", "/v1/openrpc.json", "/metrics"} {
				if got, _ := w.request(http.MethodGet, path, "", "Host", tt.host); got != tt.want {
					t.Errorf("GET %s: status %d, want %d", path, got, tt.want)
				}
			}
			wantUpgrade := tt.want
			if tt.want == ok {
				wantUpgrade = http.StatusSwitchingProtocols
			}
			if got := w.connectStatus("Host", tt.host); got != wantUpgrade {
				t.Errorf("upgrade: status %d, want %d", got, wantUpgrade)
			}
			// Probes come by whatever name the platform has for the server.
			for _, path := range []string{"/healthz", "/readyz"} {
				if got, _ := w.request(http.MethodGet, path, "", "Host", tt.host); got != ok {
					t.Errorf("GET %s: status %d", path, got)
				}
			}
		})
	}
}

// worldHost lets the test read the description from a server with a list of its own.
func worldHost(allowed []string) []string {
	if allowed == nil {
		return nil
	}
	return []string{"127.0.0.1"}
}

func TestBearer(t *testing.T) {
	w := newWorld(t, setup{edge: guarded()})
	const ok, no = http.StatusSwitchingProtocols, http.StatusUnauthorized
	for _, tt := range []struct {
		name   string
		header []string
		want   int
	}{
		{"right", []string{"Authorization", "Bearer " + alicesToken}, ok},
		{"scheme in lower case", []string{"Authorization", "bearer " + alicesToken}, ok},
		{"missing", nil, no},
		{"empty", []string{"Authorization", ""}, no},
		{"no token", []string{"Authorization", "Bearer "}, no},
		{"no scheme", []string{"Authorization", alicesToken}, no},
		{"other scheme", []string{"Authorization", "Basic " + alicesToken}, no},
		{"wrong", []string{"Authorization", "Bearer " + alicesToken + "x"}, no},
		{"beginning of a right one", []string{"Authorization", "Bearer " + alicesToken[:10]}, no},
		{"in a cookie", []string{"Cookie", "token=" + alicesToken}, no},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := w.connectStatus(tt.header...); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
	t.Run("in the URL", func(t *testing.T) {
		status, _ := w.request(http.MethodGet, "/v1/rpc?"+url.Values{"token": {alicesToken}, "access_token": {alicesToken}}.Encode(), "")
		if status != no {
			t.Errorf("status %d, want %d", status, no)
		}
	})
	t.Run("each owner sees its own", func(t *testing.T) {
		alice, bob := w.as(alicesToken), w.as(bobsToken)
		alice.create(params{"title": "alice's"})
		list := decode[v1.SessionListResult](t, bob.call(v1.MethodSessionList, params{}))
		if len(list.Sessions) != 0 {
			t.Errorf("bob sees %+v", list.Sessions)
		}
	})
}

func TestSubprotocols(t *testing.T) {
	w := newWorld(t, setup{})
	for _, tt := range []struct {
		name    string
		offered []string
		want    int
		echoed  string
	}{
		{"none", nil, 101, ""},
		{"known", []string{"sessiond.v1"}, 101, "sessiond.v1"},
		{"known among others", []string{"sessiond.v2", "sessiond.v1"}, 101, "sessiond.v1"},
		{"unknown", []string{"sessiond.v2"}, 400, ""},
		{"unknown in other case", []string{"Sessiond.V1"}, 400, ""},
		{"only a ticket", []string{"ticket.x"}, 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := w.connect(tt.offered), (handshake{tt.want, tt.echoed}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestTickets(t *testing.T) {
	at := newClock()
	edge := guarded()
	edge.Now = at.now
	w := newWorld(t, setup{edge: edge})
	connect := func(ticket string, header ...string) handshake {
		return w.connect([]string{v1.Protocol, "ticket." + ticket}, header...)
	}
	t.Run("works once and is not echoed", func(t *testing.T) {
		ticket := w.ticket(v1.ScopeChat)
		if got, want := connect(ticket, "Origin", appOrigin), (handshake{101, v1.Protocol}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := connect(ticket, "Origin", appOrigin); got.status != 401 {
			t.Errorf("a second time: status %d", got.status)
		}
	})
	t.Run("lives 30 seconds", func(t *testing.T) {
		young, old := w.ticket(v1.ScopeChat), w.ticket(v1.ScopeChat)
		at.advance(30*time.Second - time.Microsecond)
		if got := connect(young, "Origin", appOrigin); got.status != 101 {
			t.Errorf("just before its end: status %d", got.status)
		}
		at.advance(time.Microsecond)
		if got := connect(old, "Origin", appOrigin); got.status != 401 {
			t.Errorf("at its end: status %d", got.status)
		}
	})
	for _, tt := range []struct {
		name, ticket string
		header       []string
		want         int
	}{
		{"from no origin", w.ticket(v1.ScopeChat), nil, 401},
		{"from an origin that is not allowed", w.ticket(v1.ScopeChat), []string{"Origin", "https://evil.example"}, 403},
		{"a bad one is not saved by a token", "nonsense", []string{"Origin", appOrigin, "Authorization", "Bearer " + alicesToken}, 401},
		{"an empty one is not saved by a token", "", []string{"Origin", appOrigin, "Authorization", "Bearer " + alicesToken}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := connect(tt.ticket, tt.header...); got.status != tt.want {
				t.Errorf("status %d, want %d", got.status, tt.want)
			}
		})
	}
	t.Run("is no bearer token", func(t *testing.T) {
		if got := w.connectStatus("Authorization", "Bearer "+w.ticket(v1.ScopeFull)); got != 401 {
			t.Errorf("status %d", got)
		}
	})
	t.Run("two at once: one connects", func(t *testing.T) {
		ticket := w.ticket(v1.ScopeChat)
		codes := make(chan int, 2)
		for range 2 {
			go func() { codes <- connect(ticket, "Origin", appOrigin).status }()
		}
		if a, b := <-codes, <-codes; a+b != 101+401 {
			t.Errorf("status %d and %d", a, b)
		}
	})
}

// TestTicketForAnotherOrigin: both origins are allowed, but a ticket is for one.
func TestTicketForAnotherOrigin(t *testing.T) {
	edge := guarded()
	edge.AllowedOrigins = append(edge.AllowedOrigins, "https://other.example")
	w := newWorld(t, setup{edge: edge})
	ticket := w.ticket(v1.ScopeChat)
	if code := w.connect([]string{v1.Protocol, "ticket." + ticket}, "Origin", "https://other.example").status; code != 401 {
		t.Errorf("status %d", code)
	}
	if code := w.connect([]string{v1.Protocol, "ticket." + ticket}, "Origin", appOrigin).status; code != 401 {
		t.Errorf("the ticket outlived the attempt: status %d", code)
	}
}

func TestTicketRequests(t *testing.T) {
	w := newWorld(t, setup{edge: guarded()})
	const id = "0197f0d0-0000-7000-8000-000000000001"
	many := `"` + strings.Repeat(id+`","`, 64) + id + `"`
	for _, tt := range []struct {
		name, body, header string
		want               int
	}{
		{"full", `{"origin":"https://app.example","scope":"full"}`, "", 200},
		{"with port", `{"origin":"http://localhost:3000","scope":"read"}`, "", 200},
		{"limited", `{"origin":"https://app.example","scope":"chat","session_ids":["` + id + `"]}`, "", 200},
		{"no body", ``, "", 400},
		{"no object", `[]`, "", 400},
		{"no origin", `{"scope":"chat"}`, "", 400},
		{"origin null", `{"origin":"null","scope":"chat"}`, "", 400},
		{"origin with a path", `{"origin":"https://app.example/","scope":"chat"}`, "", 400},
		{"no scope", `{"origin":"https://app.example"}`, "", 400},
		{"unknown scope", `{"origin":"https://app.example","scope":"admin"}`, "", 400},
		{"scope none", `{"origin":"https://app.example","scope":"none"}`, "", 400},
		{"unknown member", `{"origin":"https://app.example","scope":"chat","owner":"bob"}`, "", 400},
		{"two objects", `{"origin":"https://app.example","scope":"chat"}{}`, "", 400},
		{"no session at all", `{"origin":"https://app.example","scope":"chat","session_ids":[]}`, "", 400},
		{"null sessions", `{"origin":"https://app.example","scope":"chat","session_ids":null}`, "", 400},
		{"another spelling", `{"Origin":"https://app.example","scope":"chat"}`, "", 400},
		{"a session that is no id", `{"origin":"https://app.example","scope":"chat","session_ids":["x"]}`, "", 400},
		{"65 sessions", `{"origin":"https://app.example","scope":"chat","session_ids":[` + many + `]}`, "", 400},
		{"too large", `{"origin":"https://app.example","scope":"` + strings.Repeat("x", 16<<10) + `"}`, "", 400},
		{"from a foreign page", `{"origin":"https://app.example","scope":"chat"}`, "https://evil.example", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := []string{"Authorization", "Bearer " + alicesToken}
			if tt.header != "" {
				header = append(header, "Origin", tt.header)
			}
			status, body := w.request(http.MethodPost, "/v1/tickets", tt.body, header...)
			if status != tt.want {
				t.Errorf("status %d, want %d: %s", status, tt.want, body)
			}
		})
	}
	if status, _ := w.request(http.MethodPost, "/v1/tickets", `{"origin":"https://app.example","scope":"chat"}`); status != 401 {
		t.Errorf("without a token: status %d", status)
	}
	if status, _ := w.request(http.MethodGet, "/v1/tickets", "", "Authorization", "Bearer "+alicesToken); status != 405 {
		t.Errorf("GET: status %d", status)
	}
}

// TestWhatProbesSee: with authentication on, metrics and the reason for not being
// ready are for those with a token.
func TestWhatProbesSee(t *testing.T) {
	for name, guard := range map[string]bool{"open": false, "guarded": true} {
		t.Run(name, func(t *testing.T) {
			var edge server.Options
			if guard {
				edge = guarded()
			}
			ill := &illStore{Store: memory.New()}
			w := newWorld(t, setup{store: ill, edge: edge})
			for _, token := range []string{"", alicesToken} {
				var header []string
				if token != "" {
					header = []string{"Authorization", "Bearer " + token}
				}
				trusted := !guard || token != ""
				status, body := w.request(http.MethodGet, "/metrics", "", header...)
				if (status == 200) != trusted || strings.Contains(string(body), "sessiond_connections") != trusted {
					t.Errorf("metrics with token %q: status %d, %d bytes", token, status, len(body))
				}
				ill.set(nil)
				if status, body := w.request(http.MethodGet, "/readyz", "", header...); status != 200 {
					t.Errorf("readyz: status %d: %s", status, body)
				}
				ill.set(errors.New("secret detail"))
				status, body = w.request(http.MethodGet, "/readyz", "", header...)
				var told map[string]string
				if err := json.Unmarshal(body, &told); err != nil {
					t.Fatal(err)
				}
				if status != 503 || (told["reason"] != "") != trusted || strings.Contains(string(body), "secret") {
					t.Errorf("readyz with token %q and an ill database: status %d: %s", token, status, body)
				}
				if status, _ := w.request(http.MethodGet, "/healthz", "", header...); status != 200 {
					t.Errorf("healthz: status %d", status)
				}
			}
		})
	}
}

func TestIPv6Loopback(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	w := newWorld(t, setup{})
	six := httptest.NewUnstartedServer(w.edge.Handler())
	_ = six.Listener.Close()
	six.Listener = listener
	six.Start()
	t.Cleanup(six.Close)
	address := "ws" + strings.TrimPrefix(six.URL, "http") + "/v1/rpc"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, resp, err := websocket.DefaultDialer.DialContext(ctx, address, http.Header{"Origin": {six.URL}})
	if err != nil {
		t.Fatalf("connect to %s: %v", address, err)
	}
	_ = resp.Body.Close()
	w.adopt(ws).call(v1.MethodServerInfo, params{})
	_ = ws.Close()
}
