package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"sessiond/message"
	"sessiond/store"
)

const (
	ticketTTL       = 30 * time.Second
	maxTicketBytes  = 16 << 10 // of the request's body
	maxTicketScoped = 64       // sessions a ticket may be limited to
)

type ticketRequest struct {
	Origin     string              `json:"origin"`
	Scope      string              `json:"scope"`
	SessionIDs []message.SessionID `json:"session_ids"`
}

type ticketResponse struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"`
}

// serveTickets makes a one-time ticket with which a browser connects. It is called by
// the frontend's backend, with its own bearer token.
func (s *Server) serveTickets(w http.ResponseWriter, r *http.Request) {
	owner, refused := s.bearer(r)
	if refused == nil && r.Header.Get("Origin") != "" {
		refused = s.checkOrigin(r)
	}
	if refused != nil {
		writeRefusal(w, refused)
		return
	}
	req, err := decodeTicketRequest(http.MaxBytesReader(w, r.Body, maxTicketBytes))
	if err != nil {
		writeRefusal(w, refuse(http.StatusBadRequest, "%v", err))
		return
	}
	value := rand.Text()
	t := &store.Ticket{
		Hash: sha256.Sum256([]byte(value)), Owner: owner, Origin: req.Origin, Scope: req.Scope,
		SessionIDs: req.SessionIDs, ExpiresAt: s.opts.Now().UTC().Add(ticketTTL).Truncate(time.Microsecond),
	}
	if err := s.store.PutTicket(r.Context(), t); err != nil {
		s.log.Error("a ticket can't be stored", zap.Error(err))
		writeRefusal(w, refuse(http.StatusServiceUnavailable, "tickets can't be made right now"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(ticketResponse{value, t.ExpiresAt})
}

// decodeTicketRequest reads a body strictly: what decides who may do what is not
// guessed. Absent session_ids mean every session of the owner; an empty list would mean
// none, and is refused.
func decodeTicketRequest(body io.Reader) (*ticketRequest, error) {
	dec := json.NewDecoder(body)
	var members map[string]json.RawMessage
	if err := dec.Decode(&members); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("body: something follows the object")
	}
	var req ticketRequest
	into := map[string]any{"origin": &req.Origin, "scope": &req.Scope, "session_ids": &req.SessionIDs}
	for name, raw := range members {
		field, known := into[name]
		if !known {
			return nil, fmt.Errorf("%s: unknown member", name)
		}
		if string(raw) == "null" {
			return nil, fmt.Errorf("%s: must not be null", name)
		}
		if err := json.Unmarshal(raw, field); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &req, req.check(members["session_ids"] != nil)
}

func (r *ticketRequest) check(limited bool) error {
	u, err := url.Parse(r.Origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != r.Origin {
		return fmt.Errorf("origin: %q is not of the form scheme://host[:port]", r.Origin)
	}
	if _, ok := scopeOf(r.Scope); !ok {
		return fmt.Errorf("scope: %q is not full, chat or read", r.Scope)
	}
	if limited && len(r.SessionIDs) == 0 {
		return errors.New("session_ids: is empty; leave it out to allow every session of the owner")
	}
	if len(r.SessionIDs) > maxTicketScoped {
		return fmt.Errorf("session_ids: more than %d", maxTicketScoped)
	}
	for i, id := range r.SessionIDs {
		if uuid.Validate(string(id)) != nil {
			return fmt.Errorf("session_ids[%d]: %q is not a UUID", i, id)
		}
		r.SessionIDs[i] = message.SessionID(strings.ToLower(string(id)))
	}
	return nil
}
