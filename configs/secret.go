package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// hidden stands in for a secret wherever settings are shown.
const hidden = "********"

// DatabaseURL is the address of the store. It may hold a password, so printing,
// logging and encoding it give [DatabaseURL.Redacted]; convert it to string to
// connect.
type DatabaseURL string

// Redacted returns the address without its secrets. What is not a readable URL
// is hidden whole.
func (u DatabaseURL) Redacted() string {
	if strings.HasPrefix(string(u), sqlitePrefix) {
		return string(u)
	}
	parsed, err := url.Parse(string(u))
	if err != nil || !isPostgresScheme(parsed.Scheme) {
		return hidden
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return hidden
	}
	for _, key := range []string{"password", "sslpassword"} {
		if query.Has(key) {
			query.Set(key, hidden)
		}
	}
	if len(query) > 0 {
		parsed.RawQuery = starsAsTheyAre(query.Encode())
	}
	if _, has := parsed.User.Password(); has {
		parsed.User = url.UserPassword(parsed.User.Username(), hidden)
	}
	return starsAsTheyAre(parsed.String())
}

func starsAsTheyAre(s string) string {
	return strings.ReplaceAll(s, url.QueryEscape(hidden), hidden)
}

// String implements [fmt.Stringer] with the redacted address.
func (u DatabaseURL) String() string { return u.Redacted() }

// GoString implements [fmt.GoStringer] with the redacted address.
func (u DatabaseURL) GoString() string { return u.Redacted() }

// MarshalText implements [encoding.TextMarshaler] with the redacted address.
func (u DatabaseURL) MarshalText() ([]byte, error) { return []byte(u.Redacted()), nil }

// Secret is a text that is hidden wherever settings are shown; convert it to string
// to use it.
type Secret string

// String implements [fmt.Stringer] and shows only whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString implements [fmt.GoStringer] like String.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements [encoding.TextMarshaler] like String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Digest is the SHA-256 of a token in 64 lower-case hexadecimal digits. It is
// hidden wherever settings are shown: the digest of a weak token gives the token
// away.
type Digest string

// DigestOf returns the digest of token.
func DigestOf(token string) Digest {
	sum := sha256.Sum256([]byte(token))
	return Digest(hex.EncodeToString(sum[:]))
}

// String implements [fmt.Stringer] and shows nothing.
func (Digest) String() string { return hidden }

// GoString implements [fmt.GoStringer] and shows nothing.
func (Digest) GoString() string { return hidden }

// MarshalText implements [encoding.TextMarshaler] and shows nothing.
func (Digest) MarshalText() ([]byte, error) { return []byte(hidden), nil }
