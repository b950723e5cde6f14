package configs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

const (
	sqlitePrefix  = "sqlite:"
	maxOwnerBytes = 128
)

// validate checks what a value's kind alone does not say.
func (l *loader) validate() {
	l.validateMinima()
	l.validateDatabase()
	l.validateModels()
	l.validateProvider()
	l.validateTokens()
	l.validateListen()
	l.validateNames("server.allowed_origins", l.cfg.Server.AllowedOrigins, checkOrigin)
	l.validateNames("server.allowed_hosts", l.cfg.Server.AllowedHosts, checkHost)
	if limits := l.cfg.Server.Limits; limits.Pong <= limits.Ping {
		l.refuse("server.limits.pong", "must be longer than ping (%v)", limits.Ping)
	}
}

func (l *loader) validateMinima() {
	for _, leaf := range leavesOf(rootOf(&l.cfg), "") {
		least, ok := leaf.field.Tag.Lookup("min")
		if !ok {
			continue
		}
		if tooSmall(leaf.value, least) {
			l.refuse(leaf.path, "must be at least %s", least)
		}
	}
}

func tooSmall(v reflect.Value, least string) bool {
	bound := reflect.New(v.Type()).Elem()
	if err := setValue(bound, least); err != nil {
		panic(fmt.Sprintf("tag min %q of a %v: %v", least, v.Type(), err)) // a wrong tag, found by any test
	}
	return v.Int() < bound.Int()
}

func isPostgresScheme(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

func (l *loader) validateDatabase() {
	const path = "database_url"
	address := string(l.cfg.DatabaseURL)
	if file, ok := strings.CutPrefix(address, sqlitePrefix); ok {
		if file == "" {
			l.refuse(path, "names no file after %s", sqlitePrefix)
		}
		return
	}
	// The parser's own error would show the password.
	parsed, err := url.Parse(address)
	switch {
	case err != nil:
		l.refuse(path, "is no valid URL; special characters in the password must be percent-encoded")
	case !isPostgresScheme(parsed.Scheme):
		l.refuse(path, "must begin with %s or postgres://", sqlitePrefix)
	}
}

func (l *loader) validateModels() {
	first := map[string]int{}
	for i, m := range l.cfg.LLM.Models {
		path := fmt.Sprintf("llm.models[%d]", i)
		other, again := first[m.Name]
		switch {
		case m.Name == "":
			l.refuse(path, "has no name")
		case again:
			l.refuse(path, "is the same model as llm.models[%d]", other)
		default:
			first[m.Name] = i
		}
	}
	if model := l.cfg.LLM.Model; model != "" && len(l.cfg.LLM.Models) > 0 && !l.cfg.LLM.offers(model) {
		l.refuse("llm.model", "%q is not among llm.models", model)
	}
}

func (l *loader) validateTokens() {
	first := map[Digest]string{}
	for i, token := range l.cfg.Auth.Tokens {
		path := fmt.Sprintf("auth.tokens[%d]", i)
		if err := checkOwner(token.Owner); err != nil {
			l.refuse(path+".owner", "%v", err)
		}
		if !isDigest(token.SHA256) {
			l.refuse(path+".sha256", "must be 64 lower-case hexadecimal digits")
			continue
		}
		if other, ok := first[token.SHA256]; ok {
			l.refuse(path, "is the same token as %s", other)
			continue
		}
		first[token.SHA256] = path
	}
}

func checkOwner(owner string) error {
	switch {
	case owner == "":
		return errors.New("must not be empty")
	case len(owner) > maxOwnerBytes:
		return fmt.Errorf("must be at most %d bytes", maxOwnerBytes)
	case owner == OwnerLocal:
		return fmt.Errorf("%q is who owns everything without authentication; choose another name", OwnerLocal)
	case strings.ContainsFunc(owner, unicode.IsControl):
		return errors.New("must have no control characters")
	}
	return nil
}

func isDigest(d Digest) bool {
	raw, err := hex.DecodeString(string(d))
	return err == nil && len(raw) == 32 && strings.ToLower(string(d)) == string(d)
}

// validateListen also keeps a server that asks nobody who they are off the network.
func (l *loader) validateListen() {
	const path = "listen"
	host, port, err := net.SplitHostPort(l.cfg.Listen)
	if err != nil {
		l.refuse(path, "must be host:port, such as 127.0.0.1:8080")
		return
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		l.refuse(path, "must end in a port between 0 and 65535")
	}
	if len(l.cfg.Auth.Tokens) == 0 && !isLoopback(host) && !l.refused("auth") {
		l.refuse(path, "%s can be reached from other machines and there is no authentication: "+
			"set %s or auth.tokens, or listen on 127.0.0.1", l.cfg.Listen, envToken)
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

func (l *loader) validateNames(path string, names []string, check func(string) error) {
	for i, name := range names {
		if err := check(name); err != nil {
			l.refuse(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
	}
}

// checkOrigin accepts what a browser would send, since origins are compared as
// they are: an entry that can never match is a mistake.
func checkOrigin(origin string) error {
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != origin {
		return fmt.Errorf("%q must be scheme://host or scheme://host:port and no more", origin)
	}
	if strings.ToLower(origin) != origin {
		return fmt.Errorf("%q must be in lower case, as browsers send it", origin)
	}
	if strings.Contains(parsed.Host, "*") {
		return fmt.Errorf("%q must name one host; there are no patterns", origin)
	}
	if (parsed.Scheme == "https" && parsed.Port() == "443") || (parsed.Scheme == "http" && parsed.Port() == "80") {
		return fmt.Errorf("%q must leave out the usual port, as browsers do", origin)
	}
	return nil
}

func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil || host == "*" {
		return nil
	}
	if host == "" || strings.ContainsAny(host, "/:*@[] ") || strings.ToLower(host) != host {
		return fmt.Errorf("%q must be one name in lower case or an address, without scheme and port, or *", host)
	}
	return nil
}
