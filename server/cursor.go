package server

import (
	"encoding/base64"
	"encoding/json"

	v1 "sessiond/rpc/v1"
)

// Cursors are opaque to clients and carry no secret: base64 of a small JSON object.

func encodeCursor(v any) string {
	raw, _ := json.Marshal(v) // plain structs: can't fail
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeCursor(cursor string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return &v1.ParamError{Path: "cursor", Reason: "is not one that this method returned"}
	}
	return nil
}
